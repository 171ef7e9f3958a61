-- GET /analytics?event=clicks&groupBy=timeseries&timezone=Asia%2FKathmandu

SELECT part.key_0 AS key_0, sum(part.total_clicks) AS total_clicks
FROM (
  SELECT roundDown(toInt64(toUnixTimestamp(slot)) * 1000, {p1:Array(Int64)}) AS key_0, toInt64(sum(clicks)) AS total_clicks
  FROM workspace_slots
  WHERE workspace_id = {p0:UInt64}
  AND slot >= {p2:DateTime('UTC')}
  AND slot <= {p3:DateTime('UTC')}
  GROUP BY key_0
  UNION ALL
  SELECT roundDown(toUnixTimestamp64Milli(timestamp), {p1:Array(Int64)}) AS key_0, toInt64(count()) AS total_clicks
  FROM click_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p4:DateTime64(3, 'UTC')}
  AND timestamp <= {p5:DateTime64(3, 'UTC')}
  AND NOT (link_id IN (
      SELECT id
      FROM links
      WHERE workspace_id = {p0:UInt64}
      AND deleted = {p6:UInt8}))
  GROUP BY key_0
  UNION ALL
  SELECT roundDown(toUnixTimestamp64Milli(timestamp), {p1:Array(Int64)}) AS key_0, toInt64(count()) AS total_clicks
  FROM click_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p7:DateTime64(3, 'UTC')}
  AND timestamp <= {p8:DateTime64(3, 'UTC')}
  AND NOT (link_id IN (
      SELECT id
      FROM links
      WHERE workspace_id = {p0:UInt64}
      AND deleted = {p6:UInt8}))
  GROUP BY key_0
  UNION ALL
  SELECT roundDown(toUnixTimestamp64Milli(timestamp), {p1:Array(Int64)}) AS key_0, -toInt64(count()) AS total_clicks
  FROM click_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p9:DateTime64(3, 'UTC')}
  AND timestamp <= {p10:DateTime64(3, 'UTC')}
  AND link_id IN (
    SELECT id
    FROM links
    WHERE workspace_id = {p0:UInt64}
    AND deleted = {p6:UInt8})
  GROUP BY key_0) AS part
GROUP BY key_0
-- p0 = "500"
-- p1 = ["1795184100000","1795187700000","1795191300000","1795194900000","1795198500000","1795202100000","1795205700000","1795209300000","1795212900000","1795216500000","1795220100000","1795223700000","1795227300000","1795230900000","1795234500000","1795238100000","1795241700000","1795245300000","1795248900000","1795252500000","1795256100000","1795259700000","1795263300000","1795266900000","1795270500000"]
-- p2 = "2026-11-20 14:45:00"
-- p3 = "2026-11-21 14:15:00"
-- p4 = "2026-11-20 14:30:00.250"
-- p5 = "2026-11-20 14:44:59.999"
-- p6 = "1"
-- p7 = "2026-11-21 14:30:00.000"
-- p8 = "2026-11-21 14:30:00.250"
-- p9 = "2026-11-20 14:45:00.000"
-- p10 = "2026-11-21 14:29:59.999"
-- set log_comment = analytics clicks timeseries
-- set optimize_use_projections = 1
-- set use_index_for_in_with_subqueries = 1

-- GET /analytics?event=leads&groupBy=timeseries&timezone=Asia%2FKathmandu

SELECT part.key_0 AS key_0, sum(part.total_leads) AS total_leads
FROM (
  SELECT roundDown(toInt64(toUnixTimestamp(slot)) * 1000, {p1:Array(Int64)}) AS key_0, toInt64(sum(leads)) AS total_leads
  FROM workspace_slots
  WHERE workspace_id = {p0:UInt64}
  AND slot >= {p2:DateTime('UTC')}
  AND slot <= {p3:DateTime('UTC')}
  GROUP BY key_0
  UNION ALL
  SELECT roundDown(toUnixTimestamp64Milli(timestamp), {p1:Array(Int64)}) AS key_0, toInt64(count()) AS total_leads
  FROM lead_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p4:DateTime64(3, 'UTC')}
  AND timestamp <= {p5:DateTime64(3, 'UTC')}
  AND NOT (link_id IN (
      SELECT id
      FROM links
      WHERE workspace_id = {p0:UInt64}
      AND deleted = {p6:UInt8}))
  GROUP BY key_0
  UNION ALL
  SELECT roundDown(toUnixTimestamp64Milli(timestamp), {p1:Array(Int64)}) AS key_0, toInt64(count()) AS total_leads
  FROM lead_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p7:DateTime64(3, 'UTC')}
  AND timestamp <= {p8:DateTime64(3, 'UTC')}
  AND NOT (link_id IN (
      SELECT id
      FROM links
      WHERE workspace_id = {p0:UInt64}
      AND deleted = {p6:UInt8}))
  GROUP BY key_0
  UNION ALL
  SELECT roundDown(toUnixTimestamp64Milli(timestamp), {p1:Array(Int64)}) AS key_0, -toInt64(count()) AS total_leads
  FROM lead_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p9:DateTime64(3, 'UTC')}
  AND timestamp <= {p10:DateTime64(3, 'UTC')}
  AND link_id IN (
    SELECT id
    FROM links
    WHERE workspace_id = {p0:UInt64}
    AND deleted = {p6:UInt8})
  GROUP BY key_0) AS part
GROUP BY key_0
-- p0 = "500"
-- p1 = ["1795184100000","1795187700000","1795191300000","1795194900000","1795198500000","1795202100000","1795205700000","1795209300000","1795212900000","1795216500000","1795220100000","1795223700000","1795227300000","1795230900000","1795234500000","1795238100000","1795241700000","1795245300000","1795248900000","1795252500000","1795256100000","1795259700000","1795263300000","1795266900000","1795270500000"]
-- p2 = "2026-11-20 14:45:00"
-- p3 = "2026-11-21 14:15:00"
-- p4 = "2026-11-20 14:30:00.250"
-- p5 = "2026-11-20 14:44:59.999"
-- p6 = "1"
-- p7 = "2026-11-21 14:30:00.000"
-- p8 = "2026-11-21 14:30:00.250"
-- p9 = "2026-11-20 14:45:00.000"
-- p10 = "2026-11-21 14:29:59.999"
-- set log_comment = analytics leads timeseries
-- set optimize_use_projections = 1
-- set use_index_for_in_with_subqueries = 1

-- GET /analytics?event=sales&groupBy=timeseries&timezone=Asia%2FKathmandu

SELECT part.key_0 AS key_0, sum(part.total_sales) AS total_sales, sum(part.total_sale_amount) AS total_sale_amount
FROM (
  SELECT roundDown(toInt64(toUnixTimestamp(slot)) * 1000, {p1:Array(Int64)}) AS key_0, toInt64(sum(sales)) AS total_sales, toInt64(sum(sale_amount)) AS total_sale_amount
  FROM workspace_slots
  WHERE workspace_id = {p0:UInt64}
  AND slot >= {p2:DateTime('UTC')}
  AND slot <= {p3:DateTime('UTC')}
  GROUP BY key_0
  UNION ALL
  SELECT roundDown(toUnixTimestamp64Milli(timestamp), {p1:Array(Int64)}) AS key_0, toInt64(count()) AS total_sales, toInt64(sum(amount)) AS total_sale_amount
  FROM sale_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p4:DateTime64(3, 'UTC')}
  AND timestamp <= {p5:DateTime64(3, 'UTC')}
  AND NOT (link_id IN (
      SELECT id
      FROM links
      WHERE workspace_id = {p0:UInt64}
      AND deleted = {p6:UInt8}))
  GROUP BY key_0
  UNION ALL
  SELECT roundDown(toUnixTimestamp64Milli(timestamp), {p1:Array(Int64)}) AS key_0, toInt64(count()) AS total_sales, toInt64(sum(amount)) AS total_sale_amount
  FROM sale_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p7:DateTime64(3, 'UTC')}
  AND timestamp <= {p8:DateTime64(3, 'UTC')}
  AND NOT (link_id IN (
      SELECT id
      FROM links
      WHERE workspace_id = {p0:UInt64}
      AND deleted = {p6:UInt8}))
  GROUP BY key_0
  UNION ALL
  SELECT roundDown(toUnixTimestamp64Milli(timestamp), {p1:Array(Int64)}) AS key_0, -toInt64(count()) AS total_sales, -toInt64(sum(amount)) AS total_sale_amount
  FROM sale_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p9:DateTime64(3, 'UTC')}
  AND timestamp <= {p10:DateTime64(3, 'UTC')}
  AND link_id IN (
    SELECT id
    FROM links
    WHERE workspace_id = {p0:UInt64}
    AND deleted = {p6:UInt8})
  GROUP BY key_0) AS part
GROUP BY key_0
-- p0 = "500"
-- p1 = ["1795184100000","1795187700000","1795191300000","1795194900000","1795198500000","1795202100000","1795205700000","1795209300000","1795212900000","1795216500000","1795220100000","1795223700000","1795227300000","1795230900000","1795234500000","1795238100000","1795241700000","1795245300000","1795248900000","1795252500000","1795256100000","1795259700000","1795263300000","1795266900000","1795270500000"]
-- p2 = "2026-11-20 14:45:00"
-- p3 = "2026-11-21 14:15:00"
-- p4 = "2026-11-20 14:30:00.250"
-- p5 = "2026-11-20 14:44:59.999"
-- p6 = "1"
-- p7 = "2026-11-21 14:30:00.000"
-- p8 = "2026-11-21 14:30:00.250"
-- p9 = "2026-11-20 14:45:00.000"
-- p10 = "2026-11-21 14:29:59.999"
-- set log_comment = analytics sales timeseries
-- set optimize_use_projections = 1
-- set use_index_for_in_with_subqueries = 1

-- GET /analytics?event=composite&groupBy=timeseries&timezone=Asia%2FKathmandu

SELECT part.key_0 AS key_0, sum(part.total_clicks) AS total_clicks, sum(part.total_leads) AS total_leads, sum(part.total_sales) AS total_sales, sum(part.total_sale_amount) AS total_sale_amount
FROM (
  SELECT roundDown(toInt64(toUnixTimestamp(slot)) * 1000, {p1:Array(Int64)}) AS key_0, toInt64(sum(clicks)) AS total_clicks, toInt64(sum(leads)) AS total_leads, toInt64(sum(sales)) AS total_sales, toInt64(sum(sale_amount)) AS total_sale_amount
  FROM workspace_slots
  WHERE workspace_id = {p0:UInt64}
  AND slot >= {p2:DateTime('UTC')}
  AND slot <= {p3:DateTime('UTC')}
  GROUP BY key_0
  UNION ALL
  SELECT roundDown(toUnixTimestamp64Milli(timestamp), {p1:Array(Int64)}) AS key_0, toInt64(count()) AS total_clicks, toInt64(0) AS total_leads, toInt64(0) AS total_sales, toInt64(0) AS total_sale_amount
  FROM click_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p4:DateTime64(3, 'UTC')}
  AND timestamp <= {p5:DateTime64(3, 'UTC')}
  AND NOT (link_id IN (
      SELECT id
      FROM links
      WHERE workspace_id = {p0:UInt64}
      AND deleted = {p6:UInt8}))
  GROUP BY key_0
  UNION ALL
  SELECT roundDown(toUnixTimestamp64Milli(timestamp), {p1:Array(Int64)}) AS key_0, toInt64(count()) AS total_clicks, toInt64(0) AS total_leads, toInt64(0) AS total_sales, toInt64(0) AS total_sale_amount
  FROM click_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p7:DateTime64(3, 'UTC')}
  AND timestamp <= {p8:DateTime64(3, 'UTC')}
  AND NOT (link_id IN (
      SELECT id
      FROM links
      WHERE workspace_id = {p0:UInt64}
      AND deleted = {p6:UInt8}))
  GROUP BY key_0
  UNION ALL
  SELECT roundDown(toUnixTimestamp64Milli(timestamp), {p1:Array(Int64)}) AS key_0, -toInt64(count()) AS total_clicks, -toInt64(0) AS total_leads, -toInt64(0) AS total_sales, -toInt64(0) AS total_sale_amount
  FROM click_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p9:DateTime64(3, 'UTC')}
  AND timestamp <= {p10:DateTime64(3, 'UTC')}
  AND link_id IN (
    SELECT id
    FROM links
    WHERE workspace_id = {p0:UInt64}
    AND deleted = {p6:UInt8})
  GROUP BY key_0
  UNION ALL
  SELECT roundDown(toUnixTimestamp64Milli(timestamp), {p1:Array(Int64)}) AS key_0, toInt64(0) AS total_clicks, toInt64(count()) AS total_leads, toInt64(0) AS total_sales, toInt64(0) AS total_sale_amount
  FROM lead_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p11:DateTime64(3, 'UTC')}
  AND timestamp <= {p12:DateTime64(3, 'UTC')}
  AND NOT (link_id IN (
      SELECT id
      FROM links
      WHERE workspace_id = {p0:UInt64}
      AND deleted = {p13:UInt8}))
  GROUP BY key_0
  UNION ALL
  SELECT roundDown(toUnixTimestamp64Milli(timestamp), {p1:Array(Int64)}) AS key_0, toInt64(0) AS total_clicks, toInt64(count()) AS total_leads, toInt64(0) AS total_sales, toInt64(0) AS total_sale_amount
  FROM lead_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p14:DateTime64(3, 'UTC')}
  AND timestamp <= {p15:DateTime64(3, 'UTC')}
  AND NOT (link_id IN (
      SELECT id
      FROM links
      WHERE workspace_id = {p0:UInt64}
      AND deleted = {p13:UInt8}))
  GROUP BY key_0
  UNION ALL
  SELECT roundDown(toUnixTimestamp64Milli(timestamp), {p1:Array(Int64)}) AS key_0, -toInt64(0) AS total_clicks, -toInt64(count()) AS total_leads, -toInt64(0) AS total_sales, -toInt64(0) AS total_sale_amount
  FROM lead_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p16:DateTime64(3, 'UTC')}
  AND timestamp <= {p17:DateTime64(3, 'UTC')}
  AND link_id IN (
    SELECT id
    FROM links
    WHERE workspace_id = {p0:UInt64}
    AND deleted = {p13:UInt8})
  GROUP BY key_0
  UNION ALL
  SELECT roundDown(toUnixTimestamp64Milli(timestamp), {p1:Array(Int64)}) AS key_0, toInt64(0) AS total_clicks, toInt64(0) AS total_leads, toInt64(count()) AS total_sales, toInt64(sum(amount)) AS total_sale_amount
  FROM sale_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p18:DateTime64(3, 'UTC')}
  AND timestamp <= {p19:DateTime64(3, 'UTC')}
  AND NOT (link_id IN (
      SELECT id
      FROM links
      WHERE workspace_id = {p0:UInt64}
      AND deleted = {p20:UInt8}))
  GROUP BY key_0
  UNION ALL
  SELECT roundDown(toUnixTimestamp64Milli(timestamp), {p1:Array(Int64)}) AS key_0, toInt64(0) AS total_clicks, toInt64(0) AS total_leads, toInt64(count()) AS total_sales, toInt64(sum(amount)) AS total_sale_amount
  FROM sale_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p21:DateTime64(3, 'UTC')}
  AND timestamp <= {p22:DateTime64(3, 'UTC')}
  AND NOT (link_id IN (
      SELECT id
      FROM links
      WHERE workspace_id = {p0:UInt64}
      AND deleted = {p20:UInt8}))
  GROUP BY key_0
  UNION ALL
  SELECT roundDown(toUnixTimestamp64Milli(timestamp), {p1:Array(Int64)}) AS key_0, -toInt64(0) AS total_clicks, -toInt64(0) AS total_leads, -toInt64(count()) AS total_sales, -toInt64(sum(amount)) AS total_sale_amount
  FROM sale_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p23:DateTime64(3, 'UTC')}
  AND timestamp <= {p24:DateTime64(3, 'UTC')}
  AND link_id IN (
    SELECT id
    FROM links
    WHERE workspace_id = {p0:UInt64}
    AND deleted = {p20:UInt8})
  GROUP BY key_0) AS part
GROUP BY key_0
-- p0 = "500"
-- p1 = ["1795184100000","1795187700000","1795191300000","1795194900000","1795198500000","1795202100000","1795205700000","1795209300000","1795212900000","1795216500000","1795220100000","1795223700000","1795227300000","1795230900000","1795234500000","1795238100000","1795241700000","1795245300000","1795248900000","1795252500000","1795256100000","1795259700000","1795263300000","1795266900000","1795270500000"]
-- p2 = "2026-11-20 14:45:00"
-- p3 = "2026-11-21 14:15:00"
-- p4 = "2026-11-20 14:30:00.250"
-- p5 = "2026-11-20 14:44:59.999"
-- p6 = "1"
-- p7 = "2026-11-21 14:30:00.000"
-- p8 = "2026-11-21 14:30:00.250"
-- p9 = "2026-11-20 14:45:00.000"
-- p10 = "2026-11-21 14:29:59.999"
-- p11 = "2026-11-20 14:30:00.250"
-- p12 = "2026-11-20 14:44:59.999"
-- p13 = "1"
-- p14 = "2026-11-21 14:30:00.000"
-- p15 = "2026-11-21 14:30:00.250"
-- p16 = "2026-11-20 14:45:00.000"
-- p17 = "2026-11-21 14:29:59.999"
-- p18 = "2026-11-20 14:30:00.250"
-- p19 = "2026-11-20 14:44:59.999"
-- p20 = "1"
-- p21 = "2026-11-21 14:30:00.000"
-- p22 = "2026-11-21 14:30:00.250"
-- p23 = "2026-11-20 14:45:00.000"
-- p24 = "2026-11-21 14:29:59.999"
-- set log_comment = analytics composite timeseries
-- set optimize_use_projections = 1
-- set use_index_for_in_with_subqueries = 1

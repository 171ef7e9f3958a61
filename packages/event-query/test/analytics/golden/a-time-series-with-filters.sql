-- GET /analytics?interval=7d&groupBy=timeseries&event=composite&country=FR&domain=go.acme.com

SELECT sum(clicks)
FROM workspace_slots
WHERE workspace_id = {p0:UInt64}
AND slot <= {p1:DateTime('UTC')}
-- p0 = "500"
-- p1 = "2106-02-07 06:28:15"
-- set log_comment = events clicks count

SELECT part.key_0 AS key_0, sum(part.total_clicks) AS total_clicks, sum(part.total_leads) AS total_leads, sum(part.total_sales) AS total_sales, sum(part.total_sale_amount) AS total_sale_amount
FROM (
  SELECT roundDown(toUnixTimestamp64Milli(timestamp), {p1:Array(Int64)}) AS key_0, toInt64(count()) AS total_clicks, toInt64(0) AS total_leads, toInt64(0) AS total_sales, toInt64(0) AS total_sale_amount
  FROM click_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p2:DateTime64(3, 'UTC')}
  AND timestamp <= {p3:DateTime64(3, 'UTC')}
  AND country IN {p4:Array(String)}
  AND link_id IN (
    SELECT id
    FROM links FINAL
    WHERE workspace_id = {p0:UInt64}
    AND domain IN {p5:Array(String)})
  GROUP BY key_0
  UNION ALL
  SELECT roundDown(toUnixTimestamp64Milli(timestamp), {p1:Array(Int64)}) AS key_0, toInt64(0) AS total_clicks, toInt64(count()) AS total_leads, toInt64(0) AS total_sales, toInt64(0) AS total_sale_amount
  FROM lead_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p6:DateTime64(3, 'UTC')}
  AND timestamp <= {p7:DateTime64(3, 'UTC')}
  AND country IN {p8:Array(String)}
  AND link_id IN (
    SELECT id
    FROM links FINAL
    WHERE workspace_id = {p0:UInt64}
    AND domain IN {p9:Array(String)})
  GROUP BY key_0
  UNION ALL
  SELECT roundDown(toUnixTimestamp64Milli(timestamp), {p1:Array(Int64)}) AS key_0, toInt64(0) AS total_clicks, toInt64(0) AS total_leads, toInt64(count()) AS total_sales, toInt64(sum(amount)) AS total_sale_amount
  FROM sale_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p10:DateTime64(3, 'UTC')}
  AND timestamp <= {p11:DateTime64(3, 'UTC')}
  AND country IN {p12:Array(String)}
  AND link_id IN (
    SELECT id
    FROM links FINAL
    WHERE workspace_id = {p0:UInt64}
    AND domain IN {p13:Array(String)})
  GROUP BY key_0) AS part
GROUP BY key_0
-- p0 = "500"
-- p1 = ["1794614400000","1794700800000","1794787200000","1794873600000","1794960000000","1795046400000","1795132800000","1795219200000"]
-- p2 = "2026-11-14 14:30:00.250"
-- p3 = "2026-11-21 23:59:59.999"
-- p4 = ["FR"]
-- p5 = ["go.acme.com"]
-- p6 = "2026-11-14 14:30:00.250"
-- p7 = "2026-11-21 23:59:59.999"
-- p8 = ["FR"]
-- p9 = ["go.acme.com"]
-- p10 = "2026-11-14 14:30:00.250"
-- p11 = "2026-11-21 23:59:59.999"
-- p12 = ["FR"]
-- p13 = ["go.acme.com"]
-- set log_comment = analytics composite timeseries
-- set optimize_use_projections = 1
-- set use_index_for_in_with_subqueries = 1
-- set use_index_for_in_with_subqueries_max_values = 2000
-- set ignore_data_skipping_indices = link_id_bloom

-- GET /analytics?event=clicks&groupBy=<grouping>

SELECT <column> AS key_0, toInt64(count()) AS total_clicks
FROM click_events
WHERE workspace_id = {p0:UInt64}
AND timestamp >= {p1:DateTime64(3, 'UTC')}
AND timestamp <= {p2:DateTime64(3, 'UTC')}
AND NOT (link_id IN (
    SELECT id
    FROM links
    WHERE workspace_id = {p0:UInt64}
    AND deleted = {p3:UInt8}))
GROUP BY key_0
HAVING NOT (<column> IN {p4:Array(String)})
ORDER BY total_clicks DESC, key_0 ASC
LIMIT {p5:UInt64}
-- p0 = "500"
-- p1 = "2026-11-20 14:30:00.250"
-- p2 = "2026-11-21 14:30:00.250"
-- p3 = "1"
-- p4 = ["","Unknown"]
-- p5 = "5000"
-- set log_comment = analytics clicks <grouping>
-- set optimize_use_projections = 0
-- set use_index_for_in_with_subqueries = 0
-- set ignore_data_skipping_indices = link_id_bloom

-- GET /analytics?event=leads&groupBy=<grouping>

SELECT <column> AS key_0, toInt64(count()) AS total_leads
FROM lead_events
WHERE workspace_id = {p0:UInt64}
AND timestamp >= {p1:DateTime64(3, 'UTC')}
AND timestamp <= {p2:DateTime64(3, 'UTC')}
AND NOT (link_id IN (
    SELECT id
    FROM links
    WHERE workspace_id = {p0:UInt64}
    AND deleted = {p3:UInt8}))
GROUP BY key_0
HAVING NOT (<column> IN {p4:Array(String)})
ORDER BY total_leads DESC, key_0 ASC
LIMIT {p5:UInt64}
-- p0 = "500"
-- p1 = "2026-11-20 14:30:00.250"
-- p2 = "2026-11-21 14:30:00.250"
-- p3 = "1"
-- p4 = ["","Unknown"]
-- p5 = "5000"
-- set log_comment = analytics leads <grouping>
-- set optimize_use_projections = 0
-- set use_index_for_in_with_subqueries = 0
-- set ignore_data_skipping_indices = link_id_bloom

-- GET /analytics?event=sales&groupBy=<grouping>

SELECT <column> AS key_0, toInt64(count()) AS total_sales, toInt64(sum(amount)) AS total_sale_amount
FROM sale_events
WHERE workspace_id = {p0:UInt64}
AND timestamp >= {p1:DateTime64(3, 'UTC')}
AND timestamp <= {p2:DateTime64(3, 'UTC')}
AND NOT (link_id IN (
    SELECT id
    FROM links
    WHERE workspace_id = {p0:UInt64}
    AND deleted = {p3:UInt8}))
GROUP BY key_0
HAVING NOT (<column> IN {p4:Array(String)})
ORDER BY total_sale_amount DESC, key_0 ASC
LIMIT {p5:UInt64}
-- p0 = "500"
-- p1 = "2026-11-20 14:30:00.250"
-- p2 = "2026-11-21 14:30:00.250"
-- p3 = "1"
-- p4 = ["","Unknown"]
-- p5 = "5000"
-- set log_comment = analytics sales <grouping>
-- set optimize_use_projections = 0
-- set use_index_for_in_with_subqueries = 0
-- set ignore_data_skipping_indices = link_id_bloom

-- GET /analytics?event=composite&groupBy=<grouping>

SELECT part.key_0 AS key_0, sum(part.total_clicks) AS total_clicks, sum(part.total_leads) AS total_leads, sum(part.total_sales) AS total_sales, sum(part.total_sale_amount) AS total_sale_amount
FROM (
  SELECT <column> AS key_0, toInt64(count()) AS total_clicks, toInt64(0) AS total_leads, toInt64(0) AS total_sales, toInt64(0) AS total_sale_amount
  FROM click_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p1:DateTime64(3, 'UTC')}
  AND timestamp <= {p2:DateTime64(3, 'UTC')}
  AND NOT (link_id IN (
      SELECT id
      FROM links
      WHERE workspace_id = {p0:UInt64}
      AND deleted = {p3:UInt8}))
  GROUP BY key_0
  HAVING NOT (<column> IN {p4:Array(String)})
  UNION ALL
  SELECT <column> AS key_0, toInt64(0) AS total_clicks, toInt64(count()) AS total_leads, toInt64(0) AS total_sales, toInt64(0) AS total_sale_amount
  FROM lead_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p5:DateTime64(3, 'UTC')}
  AND timestamp <= {p6:DateTime64(3, 'UTC')}
  AND NOT (link_id IN (
      SELECT id
      FROM links
      WHERE workspace_id = {p0:UInt64}
      AND deleted = {p7:UInt8}))
  GROUP BY key_0
  HAVING NOT (<column> IN {p4:Array(String)})
  UNION ALL
  SELECT <column> AS key_0, toInt64(0) AS total_clicks, toInt64(0) AS total_leads, toInt64(count()) AS total_sales, toInt64(sum(amount)) AS total_sale_amount
  FROM sale_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p8:DateTime64(3, 'UTC')}
  AND timestamp <= {p9:DateTime64(3, 'UTC')}
  AND NOT (link_id IN (
      SELECT id
      FROM links
      WHERE workspace_id = {p0:UInt64}
      AND deleted = {p10:UInt8}))
  GROUP BY key_0
  HAVING NOT (<column> IN {p4:Array(String)})) AS part
GROUP BY key_0
ORDER BY total_clicks DESC, key_0 ASC
LIMIT {p11:UInt64}
-- p0 = "500"
-- p1 = "2026-11-20 14:30:00.250"
-- p2 = "2026-11-21 14:30:00.250"
-- p3 = "1"
-- p4 = ["","Unknown"]
-- p5 = "2026-11-20 14:30:00.250"
-- p6 = "2026-11-21 14:30:00.250"
-- p7 = "1"
-- p8 = "2026-11-20 14:30:00.250"
-- p9 = "2026-11-21 14:30:00.250"
-- p10 = "1"
-- p11 = "5000"
-- set log_comment = analytics composite <grouping>
-- set optimize_use_projections = 0
-- set use_index_for_in_with_subqueries = 0
-- set ignore_data_skipping_indices = link_id_bloom

-- GET /analytics?interval=all&event=composite&groupBy=top_links

SELECT part.key_0 AS key_0, sum(part.total_clicks) AS total_clicks, sum(part.total_leads) AS total_leads, sum(part.total_sales) AS total_sales, sum(part.total_sale_amount) AS total_sale_amount
FROM (
  SELECT link_id AS key_0, toInt64(sum(clicks)) AS total_clicks, toInt64(sum(leads)) AS total_leads, toInt64(sum(sales)) AS total_sales, toInt64(sum(sale_amount)) AS total_sale_amount
  FROM link_totals
  WHERE workspace_id = {p0:UInt64}
  AND NOT (link_id IN (
      SELECT id
      FROM links
      WHERE workspace_id = {p0:UInt64}
      AND deleted = {p1:UInt8}))
  GROUP BY key_0
  UNION ALL
  SELECT link_id AS key_0, -toInt64(count()) AS total_clicks, -toInt64(0) AS total_leads, -toInt64(0) AS total_sales, -toInt64(0) AS total_sale_amount
  FROM click_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p2:DateTime64(3, 'UTC')}
  AND timestamp <= {p3:DateTime64(3, 'UTC')}
  AND NOT (link_id IN (
      SELECT id
      FROM links
      WHERE workspace_id = {p0:UInt64}
      AND deleted = {p1:UInt8}))
  GROUP BY key_0
  UNION ALL
  SELECT link_id AS key_0, -toInt64(0) AS total_clicks, -toInt64(count()) AS total_leads, -toInt64(0) AS total_sales, -toInt64(0) AS total_sale_amount
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
  SELECT link_id AS key_0, -toInt64(0) AS total_clicks, -toInt64(0) AS total_leads, -toInt64(count()) AS total_sales, -toInt64(sum(amount)) AS total_sale_amount
  FROM sale_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p7:DateTime64(3, 'UTC')}
  AND timestamp <= {p8:DateTime64(3, 'UTC')}
  AND NOT (link_id IN (
      SELECT id
      FROM links
      WHERE workspace_id = {p0:UInt64}
      AND deleted = {p9:UInt8}))
  GROUP BY key_0) AS part
GROUP BY key_0
HAVING (total_clicks != 0 OR total_leads != 0 OR total_sales != 0)
ORDER BY total_clicks DESC, key_0 ASC
LIMIT {p10:UInt64}
-- p0 = "500"
-- p1 = "1"
-- p2 = "2026-11-22 00:00:00.000"
-- p3 = "2109-05-15 07:35:11.103"
-- p4 = "2026-11-22 00:00:00.000"
-- p5 = "2109-05-15 07:35:11.103"
-- p6 = "1"
-- p7 = "2026-11-22 00:00:00.000"
-- p8 = "2109-05-15 07:35:11.103"
-- p9 = "1"
-- p10 = "5000"
-- set log_comment = analytics composite top_links
-- set optimize_use_projections = 0
-- set use_index_for_in_with_subqueries = 0
-- set ignore_data_skipping_indices = link_id_bloom

-- GET /analytics?event=clicks&groupBy=top_links

SELECT link_id AS key_0, toInt64(count()) AS total_clicks
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
ORDER BY total_clicks DESC, key_0 ASC
LIMIT {p4:UInt64}
-- p0 = "500"
-- p1 = "2026-11-20 14:30:00.250"
-- p2 = "2026-11-21 14:30:00.250"
-- p3 = "1"
-- p4 = "5000"
-- set log_comment = analytics clicks top_links
-- set optimize_use_projections = 0
-- set use_index_for_in_with_subqueries = 0
-- set ignore_data_skipping_indices = link_id_bloom

-- GET /analytics?event=leads&groupBy=top_links

SELECT link_id AS key_0, toInt64(count()) AS total_leads
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
ORDER BY total_leads DESC, key_0 ASC
LIMIT {p4:UInt64}
-- p0 = "500"
-- p1 = "2026-11-20 14:30:00.250"
-- p2 = "2026-11-21 14:30:00.250"
-- p3 = "1"
-- p4 = "5000"
-- set log_comment = analytics leads top_links
-- set optimize_use_projections = 0
-- set use_index_for_in_with_subqueries = 0
-- set ignore_data_skipping_indices = link_id_bloom

-- GET /analytics?event=sales&groupBy=top_links

SELECT link_id AS key_0, toInt64(count()) AS total_sales, toInt64(sum(amount)) AS total_sale_amount
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
ORDER BY total_sale_amount DESC, key_0 ASC
LIMIT {p4:UInt64}
-- p0 = "500"
-- p1 = "2026-11-20 14:30:00.250"
-- p2 = "2026-11-21 14:30:00.250"
-- p3 = "1"
-- p4 = "5000"
-- set log_comment = analytics sales top_links
-- set optimize_use_projections = 0
-- set use_index_for_in_with_subqueries = 0
-- set ignore_data_skipping_indices = link_id_bloom

-- GET /analytics?event=composite&groupBy=top_links

SELECT part.key_0 AS key_0, sum(part.total_clicks) AS total_clicks, sum(part.total_leads) AS total_leads, sum(part.total_sales) AS total_sales, sum(part.total_sale_amount) AS total_sale_amount
FROM (
  SELECT link_id AS key_0, toInt64(count()) AS total_clicks, toInt64(0) AS total_leads, toInt64(0) AS total_sales, toInt64(0) AS total_sale_amount
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
  UNION ALL
  SELECT link_id AS key_0, toInt64(0) AS total_clicks, toInt64(count()) AS total_leads, toInt64(0) AS total_sales, toInt64(0) AS total_sale_amount
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
  SELECT link_id AS key_0, toInt64(0) AS total_clicks, toInt64(0) AS total_leads, toInt64(count()) AS total_sales, toInt64(sum(amount)) AS total_sale_amount
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
ORDER BY total_clicks DESC, key_0 ASC
LIMIT {p10:UInt64}
-- p0 = "500"
-- p1 = "2026-11-20 14:30:00.250"
-- p2 = "2026-11-21 14:30:00.250"
-- p3 = "1"
-- p4 = "2026-11-20 14:30:00.250"
-- p5 = "2026-11-21 14:30:00.250"
-- p6 = "1"
-- p7 = "2026-11-20 14:30:00.250"
-- p8 = "2026-11-21 14:30:00.250"
-- p9 = "1"
-- p10 = "5000"
-- set log_comment = analytics composite top_links
-- set optimize_use_projections = 0
-- set use_index_for_in_with_subqueries = 0
-- set ignore_data_skipping_indices = link_id_bloom

-- GET /analytics?event=clicks&groupBy=top_domains

SELECT owner.owner_key AS key_0, sum(part.total_clicks) AS total_clicks
FROM (
  SELECT link_id AS key_0, toInt64(count()) AS total_clicks
  FROM click_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p1:DateTime64(3, 'UTC')}
  AND timestamp <= {p2:DateTime64(3, 'UTC')}
  GROUP BY key_0) AS part
INNER JOIN (
  SELECT id AS owner_id, domain AS owner_key
  FROM links FINAL
  WHERE workspace_id = {p0:UInt64}) AS owner ON owner.owner_id = part.key_0
GROUP BY key_0
ORDER BY total_clicks DESC, key_0 ASC
LIMIT {p3:UInt64}
-- p0 = "500"
-- p1 = "2026-11-20 14:30:00.250"
-- p2 = "2026-11-21 14:30:00.250"
-- p3 = "5000"
-- set log_comment = analytics clicks top_domains
-- set optimize_use_projections = 0
-- set use_index_for_in_with_subqueries = 0
-- set ignore_data_skipping_indices = link_id_bloom

-- GET /analytics?event=leads&groupBy=top_domains

SELECT owner.owner_key AS key_0, sum(part.total_leads) AS total_leads
FROM (
  SELECT link_id AS key_0, toInt64(count()) AS total_leads
  FROM lead_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p1:DateTime64(3, 'UTC')}
  AND timestamp <= {p2:DateTime64(3, 'UTC')}
  GROUP BY key_0) AS part
INNER JOIN (
  SELECT id AS owner_id, domain AS owner_key
  FROM links FINAL
  WHERE workspace_id = {p0:UInt64}) AS owner ON owner.owner_id = part.key_0
GROUP BY key_0
ORDER BY total_leads DESC, key_0 ASC
LIMIT {p3:UInt64}
-- p0 = "500"
-- p1 = "2026-11-20 14:30:00.250"
-- p2 = "2026-11-21 14:30:00.250"
-- p3 = "5000"
-- set log_comment = analytics leads top_domains
-- set optimize_use_projections = 0
-- set use_index_for_in_with_subqueries = 0
-- set ignore_data_skipping_indices = link_id_bloom

-- GET /analytics?event=sales&groupBy=top_domains

SELECT owner.owner_key AS key_0, sum(part.total_sales) AS total_sales, sum(part.total_sale_amount) AS total_sale_amount
FROM (
  SELECT link_id AS key_0, toInt64(count()) AS total_sales, toInt64(sum(amount)) AS total_sale_amount
  FROM sale_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p1:DateTime64(3, 'UTC')}
  AND timestamp <= {p2:DateTime64(3, 'UTC')}
  GROUP BY key_0) AS part
INNER JOIN (
  SELECT id AS owner_id, domain AS owner_key
  FROM links FINAL
  WHERE workspace_id = {p0:UInt64}) AS owner ON owner.owner_id = part.key_0
GROUP BY key_0
ORDER BY total_sale_amount DESC, key_0 ASC
LIMIT {p3:UInt64}
-- p0 = "500"
-- p1 = "2026-11-20 14:30:00.250"
-- p2 = "2026-11-21 14:30:00.250"
-- p3 = "5000"
-- set log_comment = analytics sales top_domains
-- set optimize_use_projections = 0
-- set use_index_for_in_with_subqueries = 0
-- set ignore_data_skipping_indices = link_id_bloom

-- GET /analytics?event=composite&groupBy=top_domains

SELECT owner.owner_key AS key_0, sum(part.total_clicks) AS total_clicks, sum(part.total_leads) AS total_leads, sum(part.total_sales) AS total_sales, sum(part.total_sale_amount) AS total_sale_amount
FROM (
  SELECT link_id AS key_0, toInt64(count()) AS total_clicks, toInt64(0) AS total_leads, toInt64(0) AS total_sales, toInt64(0) AS total_sale_amount
  FROM click_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p1:DateTime64(3, 'UTC')}
  AND timestamp <= {p2:DateTime64(3, 'UTC')}
  GROUP BY key_0
  UNION ALL
  SELECT link_id AS key_0, toInt64(0) AS total_clicks, toInt64(count()) AS total_leads, toInt64(0) AS total_sales, toInt64(0) AS total_sale_amount
  FROM lead_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p3:DateTime64(3, 'UTC')}
  AND timestamp <= {p4:DateTime64(3, 'UTC')}
  GROUP BY key_0
  UNION ALL
  SELECT link_id AS key_0, toInt64(0) AS total_clicks, toInt64(0) AS total_leads, toInt64(count()) AS total_sales, toInt64(sum(amount)) AS total_sale_amount
  FROM sale_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p5:DateTime64(3, 'UTC')}
  AND timestamp <= {p6:DateTime64(3, 'UTC')}
  GROUP BY key_0) AS part
INNER JOIN (
  SELECT id AS owner_id, domain AS owner_key
  FROM links FINAL
  WHERE workspace_id = {p0:UInt64}) AS owner ON owner.owner_id = part.key_0
GROUP BY key_0
ORDER BY total_sale_amount DESC, key_0 ASC
LIMIT {p7:UInt64}
-- p0 = "500"
-- p1 = "2026-11-20 14:30:00.250"
-- p2 = "2026-11-21 14:30:00.250"
-- p3 = "2026-11-20 14:30:00.250"
-- p4 = "2026-11-21 14:30:00.250"
-- p5 = "2026-11-20 14:30:00.250"
-- p6 = "2026-11-21 14:30:00.250"
-- p7 = "5000"
-- set log_comment = analytics composite top_domains
-- set optimize_use_projections = 0
-- set use_index_for_in_with_subqueries = 0
-- set ignore_data_skipping_indices = link_id_bloom

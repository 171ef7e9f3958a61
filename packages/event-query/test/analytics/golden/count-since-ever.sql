-- GET /analytics?interval=all&event=composite

SELECT sum(part.total_clicks) AS total_clicks, sum(part.total_leads) AS total_leads, sum(part.total_sales) AS total_sales, sum(part.total_sale_amount) AS total_sale_amount
FROM (
  SELECT toInt64(sum(clicks)) AS total_clicks, toInt64(sum(leads)) AS total_leads, toInt64(sum(sales)) AS total_sales, toInt64(sum(sale_amount)) AS total_sale_amount
  FROM workspace_slots
  WHERE workspace_id = {p0:UInt64}
  AND slot <= {p1:DateTime('UTC')}
  UNION ALL
  SELECT -toInt64(count()) AS total_clicks, -toInt64(0) AS total_leads, -toInt64(0) AS total_sales, -toInt64(0) AS total_sale_amount
  FROM click_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp <= {p2:DateTime64(3, 'UTC')}
  AND link_id IN (
    SELECT id
    FROM links
    WHERE workspace_id = {p0:UInt64}
    AND deleted = {p3:UInt8})
  UNION ALL
  SELECT -toInt64(0) AS total_clicks, -toInt64(count()) AS total_leads, -toInt64(0) AS total_sales, -toInt64(0) AS total_sale_amount
  FROM lead_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp <= {p4:DateTime64(3, 'UTC')}
  AND link_id IN (
    SELECT id
    FROM links
    WHERE workspace_id = {p0:UInt64}
    AND deleted = {p5:UInt8})
  UNION ALL
  SELECT -toInt64(0) AS total_clicks, -toInt64(0) AS total_leads, -toInt64(count()) AS total_sales, -toInt64(sum(amount)) AS total_sale_amount
  FROM sale_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp <= {p6:DateTime64(3, 'UTC')}
  AND link_id IN (
    SELECT id
    FROM links
    WHERE workspace_id = {p0:UInt64}
    AND deleted = {p7:UInt8})) AS part
-- p0 = "500"
-- p1 = "2026-11-21 23:45:00"
-- p2 = "2026-11-21 23:59:59.999"
-- p3 = "1"
-- p4 = "2026-11-21 23:59:59.999"
-- p5 = "1"
-- p6 = "2026-11-21 23:59:59.999"
-- p7 = "1"
-- set log_comment = analytics composite count
-- set optimize_use_projections = 1
-- set use_index_for_in_with_subqueries = 1

-- GET /analytics?event=clicks&groupBy=count

SELECT sum(part.total_clicks) AS total_clicks
FROM (
  SELECT toInt64(sum(clicks)) AS total_clicks
  FROM workspace_slots
  WHERE workspace_id = {p0:UInt64}
  AND slot >= {p1:DateTime('UTC')}
  AND slot <= {p2:DateTime('UTC')}
  UNION ALL
  SELECT toInt64(count()) AS total_clicks
  FROM click_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p3:DateTime64(3, 'UTC')}
  AND timestamp <= {p4:DateTime64(3, 'UTC')}
  AND NOT (link_id IN (
      SELECT id
      FROM links
      WHERE workspace_id = {p0:UInt64}
      AND deleted = {p5:UInt8}))
  UNION ALL
  SELECT toInt64(count()) AS total_clicks
  FROM click_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p6:DateTime64(3, 'UTC')}
  AND timestamp <= {p7:DateTime64(3, 'UTC')}
  AND NOT (link_id IN (
      SELECT id
      FROM links
      WHERE workspace_id = {p0:UInt64}
      AND deleted = {p5:UInt8}))
  UNION ALL
  SELECT -toInt64(count()) AS total_clicks
  FROM click_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p8:DateTime64(3, 'UTC')}
  AND timestamp <= {p9:DateTime64(3, 'UTC')}
  AND link_id IN (
    SELECT id
    FROM links
    WHERE workspace_id = {p0:UInt64}
    AND deleted = {p5:UInt8})) AS part
-- p0 = "500"
-- p1 = "2026-11-20 14:45:00"
-- p2 = "2026-11-21 14:15:00"
-- p3 = "2026-11-20 14:30:00.250"
-- p4 = "2026-11-20 14:44:59.999"
-- p5 = "1"
-- p6 = "2026-11-21 14:30:00.000"
-- p7 = "2026-11-21 14:30:00.250"
-- p8 = "2026-11-20 14:45:00.000"
-- p9 = "2026-11-21 14:29:59.999"
-- set log_comment = analytics clicks count
-- set optimize_use_projections = 1
-- set use_index_for_in_with_subqueries = 1

-- GET /analytics?event=leads&groupBy=count

SELECT sum(part.total_leads) AS total_leads
FROM (
  SELECT toInt64(sum(leads)) AS total_leads
  FROM workspace_slots
  WHERE workspace_id = {p0:UInt64}
  AND slot >= {p1:DateTime('UTC')}
  AND slot <= {p2:DateTime('UTC')}
  UNION ALL
  SELECT toInt64(count()) AS total_leads
  FROM lead_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p3:DateTime64(3, 'UTC')}
  AND timestamp <= {p4:DateTime64(3, 'UTC')}
  AND NOT (link_id IN (
      SELECT id
      FROM links
      WHERE workspace_id = {p0:UInt64}
      AND deleted = {p5:UInt8}))
  UNION ALL
  SELECT toInt64(count()) AS total_leads
  FROM lead_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p6:DateTime64(3, 'UTC')}
  AND timestamp <= {p7:DateTime64(3, 'UTC')}
  AND NOT (link_id IN (
      SELECT id
      FROM links
      WHERE workspace_id = {p0:UInt64}
      AND deleted = {p5:UInt8}))
  UNION ALL
  SELECT -toInt64(count()) AS total_leads
  FROM lead_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p8:DateTime64(3, 'UTC')}
  AND timestamp <= {p9:DateTime64(3, 'UTC')}
  AND link_id IN (
    SELECT id
    FROM links
    WHERE workspace_id = {p0:UInt64}
    AND deleted = {p5:UInt8})) AS part
-- p0 = "500"
-- p1 = "2026-11-20 14:45:00"
-- p2 = "2026-11-21 14:15:00"
-- p3 = "2026-11-20 14:30:00.250"
-- p4 = "2026-11-20 14:44:59.999"
-- p5 = "1"
-- p6 = "2026-11-21 14:30:00.000"
-- p7 = "2026-11-21 14:30:00.250"
-- p8 = "2026-11-20 14:45:00.000"
-- p9 = "2026-11-21 14:29:59.999"
-- set log_comment = analytics leads count
-- set optimize_use_projections = 1
-- set use_index_for_in_with_subqueries = 1

-- GET /analytics?event=sales&groupBy=count

SELECT sum(part.total_sales) AS total_sales, sum(part.total_sale_amount) AS total_sale_amount
FROM (
  SELECT toInt64(sum(sales)) AS total_sales, toInt64(sum(sale_amount)) AS total_sale_amount
  FROM workspace_slots
  WHERE workspace_id = {p0:UInt64}
  AND slot >= {p1:DateTime('UTC')}
  AND slot <= {p2:DateTime('UTC')}
  UNION ALL
  SELECT toInt64(count()) AS total_sales, toInt64(sum(amount)) AS total_sale_amount
  FROM sale_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p3:DateTime64(3, 'UTC')}
  AND timestamp <= {p4:DateTime64(3, 'UTC')}
  AND NOT (link_id IN (
      SELECT id
      FROM links
      WHERE workspace_id = {p0:UInt64}
      AND deleted = {p5:UInt8}))
  UNION ALL
  SELECT toInt64(count()) AS total_sales, toInt64(sum(amount)) AS total_sale_amount
  FROM sale_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p6:DateTime64(3, 'UTC')}
  AND timestamp <= {p7:DateTime64(3, 'UTC')}
  AND NOT (link_id IN (
      SELECT id
      FROM links
      WHERE workspace_id = {p0:UInt64}
      AND deleted = {p5:UInt8}))
  UNION ALL
  SELECT -toInt64(count()) AS total_sales, -toInt64(sum(amount)) AS total_sale_amount
  FROM sale_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p8:DateTime64(3, 'UTC')}
  AND timestamp <= {p9:DateTime64(3, 'UTC')}
  AND link_id IN (
    SELECT id
    FROM links
    WHERE workspace_id = {p0:UInt64}
    AND deleted = {p5:UInt8})) AS part
-- p0 = "500"
-- p1 = "2026-11-20 14:45:00"
-- p2 = "2026-11-21 14:15:00"
-- p3 = "2026-11-20 14:30:00.250"
-- p4 = "2026-11-20 14:44:59.999"
-- p5 = "1"
-- p6 = "2026-11-21 14:30:00.000"
-- p7 = "2026-11-21 14:30:00.250"
-- p8 = "2026-11-20 14:45:00.000"
-- p9 = "2026-11-21 14:29:59.999"
-- set log_comment = analytics sales count
-- set optimize_use_projections = 1
-- set use_index_for_in_with_subqueries = 1

-- GET /analytics?event=composite&groupBy=count

SELECT sum(part.total_clicks) AS total_clicks, sum(part.total_leads) AS total_leads, sum(part.total_sales) AS total_sales, sum(part.total_sale_amount) AS total_sale_amount
FROM (
  SELECT toInt64(sum(clicks)) AS total_clicks, toInt64(sum(leads)) AS total_leads, toInt64(sum(sales)) AS total_sales, toInt64(sum(sale_amount)) AS total_sale_amount
  FROM workspace_slots
  WHERE workspace_id = {p0:UInt64}
  AND slot >= {p1:DateTime('UTC')}
  AND slot <= {p2:DateTime('UTC')}
  UNION ALL
  SELECT toInt64(count()) AS total_clicks, toInt64(0) AS total_leads, toInt64(0) AS total_sales, toInt64(0) AS total_sale_amount
  FROM click_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p3:DateTime64(3, 'UTC')}
  AND timestamp <= {p4:DateTime64(3, 'UTC')}
  AND NOT (link_id IN (
      SELECT id
      FROM links
      WHERE workspace_id = {p0:UInt64}
      AND deleted = {p5:UInt8}))
  UNION ALL
  SELECT toInt64(count()) AS total_clicks, toInt64(0) AS total_leads, toInt64(0) AS total_sales, toInt64(0) AS total_sale_amount
  FROM click_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p6:DateTime64(3, 'UTC')}
  AND timestamp <= {p7:DateTime64(3, 'UTC')}
  AND NOT (link_id IN (
      SELECT id
      FROM links
      WHERE workspace_id = {p0:UInt64}
      AND deleted = {p5:UInt8}))
  UNION ALL
  SELECT -toInt64(count()) AS total_clicks, -toInt64(0) AS total_leads, -toInt64(0) AS total_sales, -toInt64(0) AS total_sale_amount
  FROM click_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p8:DateTime64(3, 'UTC')}
  AND timestamp <= {p9:DateTime64(3, 'UTC')}
  AND link_id IN (
    SELECT id
    FROM links
    WHERE workspace_id = {p0:UInt64}
    AND deleted = {p5:UInt8})
  UNION ALL
  SELECT toInt64(0) AS total_clicks, toInt64(count()) AS total_leads, toInt64(0) AS total_sales, toInt64(0) AS total_sale_amount
  FROM lead_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p10:DateTime64(3, 'UTC')}
  AND timestamp <= {p11:DateTime64(3, 'UTC')}
  AND NOT (link_id IN (
      SELECT id
      FROM links
      WHERE workspace_id = {p0:UInt64}
      AND deleted = {p12:UInt8}))
  UNION ALL
  SELECT toInt64(0) AS total_clicks, toInt64(count()) AS total_leads, toInt64(0) AS total_sales, toInt64(0) AS total_sale_amount
  FROM lead_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p13:DateTime64(3, 'UTC')}
  AND timestamp <= {p14:DateTime64(3, 'UTC')}
  AND NOT (link_id IN (
      SELECT id
      FROM links
      WHERE workspace_id = {p0:UInt64}
      AND deleted = {p12:UInt8}))
  UNION ALL
  SELECT -toInt64(0) AS total_clicks, -toInt64(count()) AS total_leads, -toInt64(0) AS total_sales, -toInt64(0) AS total_sale_amount
  FROM lead_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p15:DateTime64(3, 'UTC')}
  AND timestamp <= {p16:DateTime64(3, 'UTC')}
  AND link_id IN (
    SELECT id
    FROM links
    WHERE workspace_id = {p0:UInt64}
    AND deleted = {p12:UInt8})
  UNION ALL
  SELECT toInt64(0) AS total_clicks, toInt64(0) AS total_leads, toInt64(count()) AS total_sales, toInt64(sum(amount)) AS total_sale_amount
  FROM sale_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p17:DateTime64(3, 'UTC')}
  AND timestamp <= {p18:DateTime64(3, 'UTC')}
  AND NOT (link_id IN (
      SELECT id
      FROM links
      WHERE workspace_id = {p0:UInt64}
      AND deleted = {p19:UInt8}))
  UNION ALL
  SELECT toInt64(0) AS total_clicks, toInt64(0) AS total_leads, toInt64(count()) AS total_sales, toInt64(sum(amount)) AS total_sale_amount
  FROM sale_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p20:DateTime64(3, 'UTC')}
  AND timestamp <= {p21:DateTime64(3, 'UTC')}
  AND NOT (link_id IN (
      SELECT id
      FROM links
      WHERE workspace_id = {p0:UInt64}
      AND deleted = {p19:UInt8}))
  UNION ALL
  SELECT -toInt64(0) AS total_clicks, -toInt64(0) AS total_leads, -toInt64(count()) AS total_sales, -toInt64(sum(amount)) AS total_sale_amount
  FROM sale_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p22:DateTime64(3, 'UTC')}
  AND timestamp <= {p23:DateTime64(3, 'UTC')}
  AND link_id IN (
    SELECT id
    FROM links
    WHERE workspace_id = {p0:UInt64}
    AND deleted = {p19:UInt8})) AS part
-- p0 = "500"
-- p1 = "2026-11-20 14:45:00"
-- p2 = "2026-11-21 14:15:00"
-- p3 = "2026-11-20 14:30:00.250"
-- p4 = "2026-11-20 14:44:59.999"
-- p5 = "1"
-- p6 = "2026-11-21 14:30:00.000"
-- p7 = "2026-11-21 14:30:00.250"
-- p8 = "2026-11-20 14:45:00.000"
-- p9 = "2026-11-21 14:29:59.999"
-- p10 = "2026-11-20 14:30:00.250"
-- p11 = "2026-11-20 14:44:59.999"
-- p12 = "1"
-- p13 = "2026-11-21 14:30:00.000"
-- p14 = "2026-11-21 14:30:00.250"
-- p15 = "2026-11-20 14:45:00.000"
-- p16 = "2026-11-21 14:29:59.999"
-- p17 = "2026-11-20 14:30:00.250"
-- p18 = "2026-11-20 14:44:59.999"
-- p19 = "1"
-- p20 = "2026-11-21 14:30:00.000"
-- p21 = "2026-11-21 14:30:00.250"
-- p22 = "2026-11-20 14:45:00.000"
-- p23 = "2026-11-21 14:29:59.999"
-- set log_comment = analytics composite count
-- set optimize_use_projections = 1
-- set use_index_for_in_with_subqueries = 1

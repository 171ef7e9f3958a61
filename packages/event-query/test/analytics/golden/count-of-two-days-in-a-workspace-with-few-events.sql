-- GET /analytics?start=2026-11-20T14%3A26%3A00Z&end=2026-11-22T14%3A28%3A00Z&event=composite

SELECT sum(part.total_clicks) AS total_clicks, sum(part.total_leads) AS total_leads, sum(part.total_sales) AS total_sales, sum(part.total_sale_amount) AS total_sale_amount
FROM (
  SELECT toInt64(count()) AS total_clicks, toInt64(0) AS total_leads, toInt64(0) AS total_sales, toInt64(0) AS total_sale_amount
  FROM click_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p1:DateTime64(3, 'UTC')}
  AND timestamp <= {p2:DateTime64(3, 'UTC')}
  UNION ALL
  SELECT toInt64(0) AS total_clicks, toInt64(count()) AS total_leads, toInt64(0) AS total_sales, toInt64(0) AS total_sale_amount
  FROM lead_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p3:DateTime64(3, 'UTC')}
  AND timestamp <= {p4:DateTime64(3, 'UTC')}
  UNION ALL
  SELECT toInt64(0) AS total_clicks, toInt64(0) AS total_leads, toInt64(count()) AS total_sales, toInt64(sum(amount)) AS total_sale_amount
  FROM sale_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p5:DateTime64(3, 'UTC')}
  AND timestamp <= {p6:DateTime64(3, 'UTC')}) AS part
-- p0 = "500"
-- p1 = "2026-11-20 14:26:00.000"
-- p2 = "2026-11-22 14:28:00.000"
-- p3 = "2026-11-20 14:26:00.000"
-- p4 = "2026-11-22 14:28:00.000"
-- p5 = "2026-11-20 14:26:00.000"
-- p6 = "2026-11-22 14:28:00.000"
-- set log_comment = analytics composite count
-- set optimize_use_projections = 0
-- set use_index_for_in_with_subqueries = 0
-- set ignore_data_skipping_indices = link_id_bloom

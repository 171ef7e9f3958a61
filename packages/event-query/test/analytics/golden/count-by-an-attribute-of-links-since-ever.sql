-- GET /analytics?interval=all&event=composite&tagId=tag_00000000002

SELECT sum(clicks)
FROM workspace_slots
WHERE workspace_id = {p0:UInt64}
AND slot <= {p1:DateTime('UTC')}
-- p0 = "500"
-- p1 = "2106-02-07 06:28:15"
-- set log_comment = events clicks count

SELECT sum(part.total_clicks) AS total_clicks, sum(part.total_leads) AS total_leads, sum(part.total_sales) AS total_sales, sum(part.total_sale_amount) AS total_sale_amount
FROM (
  SELECT toInt64(sum(clicks)) AS total_clicks, toInt64(sum(leads)) AS total_leads, toInt64(sum(sales)) AS total_sales, toInt64(sum(sale_amount)) AS total_sale_amount
  FROM link_totals
  WHERE workspace_id = {p0:UInt64}
  AND link_id IN (
    SELECT id
    FROM links FINAL
    WHERE workspace_id = {p0:UInt64}
    AND hasAny(tag_ids, {p1:Array(UInt64)}))
  UNION ALL
  SELECT -toInt64(count()) AS total_clicks, -toInt64(0) AS total_leads, -toInt64(0) AS total_sales, -toInt64(0) AS total_sale_amount
  FROM click_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p2:DateTime64(3, 'UTC')}
  AND timestamp <= {p3:DateTime64(3, 'UTC')}
  AND link_id IN (
    SELECT id
    FROM links FINAL
    WHERE workspace_id = {p0:UInt64}
    AND hasAny(tag_ids, {p1:Array(UInt64)}))
  UNION ALL
  SELECT -toInt64(0) AS total_clicks, -toInt64(count()) AS total_leads, -toInt64(0) AS total_sales, -toInt64(0) AS total_sale_amount
  FROM lead_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p4:DateTime64(3, 'UTC')}
  AND timestamp <= {p5:DateTime64(3, 'UTC')}
  AND link_id IN (
    SELECT id
    FROM links FINAL
    WHERE workspace_id = {p0:UInt64}
    AND hasAny(tag_ids, {p6:Array(UInt64)}))
  UNION ALL
  SELECT -toInt64(0) AS total_clicks, -toInt64(0) AS total_leads, -toInt64(count()) AS total_sales, -toInt64(sum(amount)) AS total_sale_amount
  FROM sale_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p7:DateTime64(3, 'UTC')}
  AND timestamp <= {p8:DateTime64(3, 'UTC')}
  AND link_id IN (
    SELECT id
    FROM links FINAL
    WHERE workspace_id = {p0:UInt64}
    AND hasAny(tag_ids, {p9:Array(UInt64)}))) AS part
-- p0 = "500"
-- p1 = ["2"]
-- p2 = "2026-11-22 00:00:00.000"
-- p3 = "2109-05-15 07:35:11.103"
-- p4 = "2026-11-22 00:00:00.000"
-- p5 = "2109-05-15 07:35:11.103"
-- p6 = ["2"]
-- p7 = "2026-11-22 00:00:00.000"
-- p8 = "2109-05-15 07:35:11.103"
-- p9 = ["2"]
-- set log_comment = analytics composite count
-- set optimize_use_projections = 1
-- set use_index_for_in_with_subqueries = 1
-- set use_index_for_in_with_subqueries_max_values = 2000
-- set ignore_data_skipping_indices = link_id_bloom

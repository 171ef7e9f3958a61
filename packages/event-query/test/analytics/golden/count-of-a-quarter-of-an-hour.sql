-- GET /analytics?start=2026-11-21T14%3A15%3A00Z&end=2026-11-21T14%3A29%3A59.999Z

SELECT toInt64(sum(clicks)) AS total_clicks
FROM workspace_slots
WHERE workspace_id = {p0:UInt64}
AND slot >= {p1:DateTime('UTC')}
AND slot <= {p2:DateTime('UTC')}
-- p0 = "500"
-- p1 = "2026-11-21 14:15:00"
-- p2 = "2026-11-21 14:15:00"
-- set log_comment = analytics clicks count
-- set optimize_use_projections = 0
-- set use_index_for_in_with_subqueries = 0
-- set ignore_data_skipping_indices = link_id_bloom

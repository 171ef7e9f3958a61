-- GET /analytics?

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
  UNION ALL
  SELECT toInt64(count()) AS total_clicks
  FROM click_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p5:DateTime64(3, 'UTC')}
  AND timestamp <= {p6:DateTime64(3, 'UTC')}) AS part
-- p0 = "500"
-- p1 = "2026-11-20 14:45:00"
-- p2 = "2026-11-21 14:15:00"
-- p3 = "2026-11-20 14:30:00.250"
-- p4 = "2026-11-20 14:44:59.999"
-- p5 = "2026-11-21 14:30:00.000"
-- p6 = "2026-11-21 14:30:00.250"
-- set log_comment = analytics clicks count
-- set optimize_use_projections = 0
-- set use_index_for_in_with_subqueries = 0
-- set ignore_data_skipping_indices = link_id_bloom

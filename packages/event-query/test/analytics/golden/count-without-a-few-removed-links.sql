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
  AND NOT (link_id IN {p5:Array(UInt64)})
  UNION ALL
  SELECT toInt64(count()) AS total_clicks
  FROM click_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p6:DateTime64(3, 'UTC')}
  AND timestamp <= {p7:DateTime64(3, 'UTC')}
  AND NOT (link_id IN {p8:Array(UInt64)})
  UNION ALL
  SELECT -toInt64(count()) AS total_clicks
  FROM click_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p9:DateTime64(3, 'UTC')}
  AND timestamp <= {p10:DateTime64(3, 'UTC')}
  AND link_id IN {p11:Array(UInt64)}) AS part
-- p0 = "500"
-- p1 = "2026-11-20 14:45:00"
-- p2 = "2026-11-21 14:15:00"
-- p3 = "2026-11-20 14:30:00.250"
-- p4 = "2026-11-20 14:44:59.999"
-- p5 = ["6"]
-- p6 = "2026-11-21 14:30:00.000"
-- p7 = "2026-11-21 14:30:00.250"
-- p8 = ["6"]
-- p9 = "2026-11-20 14:45:00.000"
-- p10 = "2026-11-21 14:29:59.999"
-- p11 = ["6"]
-- set log_comment = analytics clicks count
-- set optimize_use_projections = 1
-- set use_index_for_in_with_subqueries = 1

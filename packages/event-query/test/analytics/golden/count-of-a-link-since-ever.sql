-- GET /analytics?interval=all&linkId=link_00000000002

SELECT sum(part.total_clicks) AS total_clicks
FROM (
  SELECT toInt64(sum(clicks)) AS total_clicks
  FROM link_totals
  WHERE workspace_id = {p0:UInt64}
  AND clicks != {p1:UInt64}
  AND link_id IN {p2:Array(UInt64)}
  AND NOT (link_id IN (
      SELECT id
      FROM links
      WHERE workspace_id = {p0:UInt64}
      AND id IN {p3:Array(UInt64)}
      AND deleted = {p4:UInt8}))
  UNION ALL
  SELECT -toInt64(count()) AS total_clicks
  FROM click_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p5:DateTime64(3, 'UTC')}
  AND timestamp <= {p6:DateTime64(3, 'UTC')}
  AND link_id IN {p2:Array(UInt64)}
  AND NOT (link_id IN (
      SELECT id
      FROM links
      WHERE workspace_id = {p0:UInt64}
      AND id IN {p3:Array(UInt64)}
      AND deleted = {p4:UInt8}))) AS part
-- p0 = "500"
-- p1 = "0"
-- p2 = ["2"]
-- p3 = ["2"]
-- p4 = "1"
-- p5 = "2026-11-22 00:00:00.000"
-- p6 = "2109-05-15 07:35:11.103"
-- set log_comment = analytics clicks count
-- set optimize_use_projections = 1
-- set use_index_for_in_with_subqueries = 1

-- GET /events?linkId=link_00000000001%2Clink_00000000002

SELECT sum(clicks)
  FROM link_totals
  WHERE workspace_id = {p0:UInt64}
  AND link_id IN {p1:Array(UInt64)}
-- p0 = "500"
-- p1 = ["1","2"]
-- set log_comment = events clicks links count

SELECT click_id, timestamp, link_id, payload, ip
  FROM click_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p1:DateTime64(3, 'UTC')}
  AND timestamp <= {p2:DateTime64(3, 'UTC')}
  AND link_id IN {p3:Array(UInt64)}
  AND NOT (link_id IN (SELECT id FROM links WHERE workspace_id = {p0:UInt64} AND id IN {p4:Array(UInt64)} AND deleted = {p5:UInt8}))
  ORDER BY timestamp DESC, click_id DESC
  LIMIT {p6:UInt64} OFFSET {p7:UInt64}
-- p0 = "500"
-- p1 = "2026-11-20 14:30:00.250"
-- p2 = "2026-11-21 14:30:00.250"
-- p3 = ["1","2"]
-- p4 = ["1","2"]
-- p5 = "1"
-- p6 = "100"
-- p7 = "0"
-- set log_comment = events clicks
-- set optimize_use_projections = 0
-- set use_index_for_in_with_subqueries = 0
-- set ignore_data_skipping_indices = link_id_bloom
-- set use_top_k_dynamic_filtering = 0

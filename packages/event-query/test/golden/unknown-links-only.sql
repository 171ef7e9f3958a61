-- GET /events?linkId=link_none

SELECT click_id, timestamp, link_id, payload, ip
  FROM click_events
  WHERE workspace_id = {p0:UInt64}
  AND false
  ORDER BY timestamp DESC, click_id DESC
  LIMIT {p1:UInt64} OFFSET {p2:UInt64}
-- p0 = "500"
-- p1 = "100"
-- p2 = "0"
-- set log_comment = events clicks
-- set optimize_use_projections = 1
-- set use_index_for_in_with_subqueries = 1
-- set use_top_k_dynamic_filtering = 0

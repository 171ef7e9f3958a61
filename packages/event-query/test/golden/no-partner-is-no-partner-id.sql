-- GET /events?partnerId=pn_00000000000

SELECT click_id, timestamp, link_id, payload, ip
  FROM click_events
  WHERE workspace_id = {p0:UInt64}
  AND false
  ORDER BY timestamp DESC, click_id DESC
  LIMIT {p1:UInt64} OFFSET {p2:UInt64}
-- p0 = "500"
-- p1 = "100"
-- p2 = "0"
-- set max_threads = 1
-- set query_plan_merge_expressions = 0
-- set log_comment = events clicks
-- set optimize_use_projections = 0
-- set use_index_for_in_with_subqueries = 0
-- set ignore_data_skipping_indices = link_id_bloom
-- set use_top_k_dynamic_filtering = 0

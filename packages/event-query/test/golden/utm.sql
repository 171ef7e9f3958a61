-- GET /events?utm_source=news+letter&utm_medium=e-mail&utm_campaign=x&utm_term=a&utm_content=b

SELECT click_id, timestamp, link_id, payload, ip
  FROM click_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p1:DateTime64(3, 'UTC')}
  AND timestamp <= {p2:DateTime64(3, 'UTC')}
  AND utm_source IN {p3:Array(String)}
  AND utm_medium IN {p4:Array(String)}
  AND utm_campaign IN {p5:Array(String)}
  AND utm_term IN {p6:Array(String)}
  AND utm_content IN {p7:Array(String)}
  AND NOT (link_id IN (SELECT id FROM links WHERE workspace_id = {p0:UInt64} AND deleted = {p8:UInt8}))
  ORDER BY timestamp DESC, click_id DESC
  LIMIT {p9:UInt64} OFFSET {p10:UInt64}
-- p0 = "500"
-- p1 = "2026-11-20 14:30:00.250"
-- p2 = "2026-11-21 14:30:00.250"
-- p3 = ["news letter"]
-- p4 = ["e-mail"]
-- p5 = ["x"]
-- p6 = ["a"]
-- p7 = ["b"]
-- p8 = "1"
-- p9 = "100"
-- p10 = "0"
-- set log_comment = events clicks
-- set optimize_use_projections = 0
-- set use_index_for_in_with_subqueries = 0
-- set ignore_data_skipping_indices = link_id_bloom
-- set use_top_k_dynamic_filtering = 0

-- GET /events?event=leads&start=2026-11-21T14%3A28%3A00.250Z&cursor=AQGh_oObOgGh_oKw2kwxc0lTZTV5eWFGVzRRSkpdZctNUlTiWPww1r4

SELECT event_id, timestamp, link_id, payload, ip, event_name, customer_id
  FROM lead_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p1:DateTime64(3, 'UTC')}
  AND timestamp <= {p2:DateTime64(3, 'UTC')}
  AND timestamp <= {p3:DateTime64(3, 'UTC')}
  AND (timestamp, event_id) < ({p3:DateTime64(3, 'UTC')}, {p4:String})
  AND NOT (link_id IN (SELECT id FROM links WHERE workspace_id = {p0:UInt64} AND deleted = {p5:UInt8}))
  ORDER BY timestamp DESC, event_id DESC
  LIMIT {p6:UInt64} OFFSET {p7:UInt64}
-- p0 = "500"
-- p1 = "2026-11-21 14:28:00.250"
-- p2 = "2026-11-21 14:30:00.250"
-- p3 = "2026-11-21 14:29:00.250"
-- p4 = "L1sISe5yyaFW4QJJ"
-- p5 = "1"
-- p6 = "100"
-- p7 = "0"
-- set max_threads = 1
-- set query_plan_merge_expressions = 0
-- set log_comment = events leads
-- set optimize_use_projections = 0
-- set use_index_for_in_with_subqueries = 0
-- set ignore_data_skipping_indices = link_id_bloom
-- set use_top_k_dynamic_filtering = 0

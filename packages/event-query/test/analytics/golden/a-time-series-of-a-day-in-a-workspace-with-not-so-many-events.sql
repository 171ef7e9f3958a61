-- GET /analytics?groupBy=timeseries

SELECT roundDown(toUnixTimestamp64Milli(timestamp), {p1:Array(Int64)}) AS key_0, toInt64(count()) AS total_clicks
FROM click_events
WHERE workspace_id = {p0:UInt64}
AND timestamp >= {p2:DateTime64(3, 'UTC')}
AND timestamp <= {p3:DateTime64(3, 'UTC')}
GROUP BY key_0
-- p0 = "500"
-- p1 = ["1795183200000","1795186800000","1795190400000","1795194000000","1795197600000","1795201200000","1795204800000","1795208400000","1795212000000","1795215600000","1795219200000","1795222800000","1795226400000","1795230000000","1795233600000","1795237200000","1795240800000","1795244400000","1795248000000","1795251600000","1795255200000","1795258800000","1795262400000","1795266000000","1795269600000"]
-- p2 = "2026-11-20 14:30:00.250"
-- p3 = "2026-11-21 14:30:00.250"
-- set log_comment = analytics clicks timeseries
-- set optimize_use_projections = 0
-- set use_index_for_in_with_subqueries = 0
-- set ignore_data_skipping_indices = link_id_bloom

-- As the texts of clicks.
ALTER TABLE sale_events${local} ${cluster}
    MODIFY COLUMN city String CODEC(LZ4),
    MODIFY COLUMN referer_url String CODEC(LZ4);

ALTER TABLE sale_events ${cluster}
    MODIFY COLUMN city String,
    MODIFY COLUMN referer_url String;

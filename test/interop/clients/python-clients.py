"""One of kafka-python, confluent-kafka and aiokafka against a broker: `python-clients.py CLIENT PORT TOPIC [configs]`.

Says what it did as `did: WORDS` and each record it read as `record: JSON`; client-program.ts checks both.
"""

import asyncio
import json
import sys
import threading
import time

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
PARTITIONS = 4
RECORDS_A_CODEC = 10
DEADLINE_SECONDS = 25


def did(words):
    print(f"did: {words}", flush=True)


def expect(found, wanted, what):
    if found != wanted:
        raise AssertionError(f"{what}: {found!r}, not {wanted!r}")


def wait_for(condition, what, describe=str):
    """The group's heartbeats are what moves it: there is nothing to wait for but its state."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {DEADLINE_SECONDS} s: {what}; {describe()}")
        time.sleep(0.05)


def records_of(codec):
    """Key, value, headers: the last but one has no key, the last no value."""
    for i in range(RECORDS_A_CODEC):
        key = None if i == RECORDS_A_CODEC - 2 else f"{codec}-{i}".encode()
        value = None if i == RECORDS_A_CODEC - 1 else f"{codec} {i} ".encode() * 20
        yield key, value, [("codec", codec.encode()), ("empty", b"")]


def say(key, value, headers):
    text = lambda data: None if data is None else bytes(data).decode()
    pairs = [[name, text(data)] for name, data in headers]
    print("record: " + json.dumps({"key": text(key), "value": text(value), "headers": pairs}), flush=True)


TOTAL = len(CODECS) * RECORDS_A_CODEC


class Member(threading.Thread):
    """A consumer that polls until it is told to stop; `poll` answers with records, `share` says what it has."""

    def __init__(self, poll, share, close):
        super().__init__(daemon=True)
        self.poll, self.share, self.close = poll, share, close
        self.records, self.problem, self.parts = [], None, 0
        self.stopping = threading.Event()

    def run(self):
        try:
            while not self.stopping.is_set():
                self.records.extend(self.poll())
                self.parts = self.share()
            self.close()
        except BaseException as problem:  # said by the thread that waits
            self.problem = problem

    def check(self):
        if self.problem is not None:
            raise self.problem

    def stop(self):
        self.stopping.set()
        self.join(DEADLINE_SECONDS)
        self.check()


def share_and_leave(make_member, produce_more):
    """One member reads all; a second joins and has half, leaves, and the first has all again."""
    first = make_member()
    first.start()

    def has(*shares):
        for member, _ in shares:
            member.check()
        return all(member.parts == parts for member, parts in shares)

    wait_for(lambda: has((first, 4)) and len(first.records) == TOTAL, "one member reads all", lambda: (first.parts, len(first.records)))
    second = make_member()
    second.start()
    wait_for(lambda: has((first, 2), (second, 2)), "two members have two partitions each")
    did("a second member joined: 2 and 2 partitions")
    more = produce_more()
    
    def all_read():
        return has((first, 2), (second, 2)) and len(first.records) + len(second.records) == TOTAL + more

    wait_for(all_read, "two members read what came")
    expect(len(first.records) + len(second.records), TOTAL + more, "records read by two")
    second.stop()
    wait_for(lambda: has((first, 4)), "the first has all again")
    did("the second member left: 4 partitions")
    first.stop()
    for record in first.records + second.records:
        say(*record)


def kafka_python(server, topic):
    import kafka
    from kafka.admin import KafkaAdminClient, NewTopic

    did(f"kafka-python {kafka.__version__}")
    admin = KafkaAdminClient(bootstrap_servers=server)
    other = f"{topic}-other"
    admin.create_topics([NewTopic(topic, PARTITIONS, 1), NewTopic(other, 1, 1)])
    did("created topics")
    described = {each["name"]: each for each in admin.describe_topics([topic, other])}
    expect({name: len(each["partitions"]) for name, each in described.items()}, {topic: PARTITIONS, other: 1}, "partitions")
    did("described topics")
    for codec in CODECS:
        compression = None if codec == "none" else codec
        producer = kafka.KafkaProducer(bootstrap_servers=server, compression_type=compression, enable_idempotence=True)
        sent = [producer.send(topic, value, key, headers) for key, value, headers in records_of(codec)]
        for future in sent:
            future.get(30)
        producer.close()
        did(f"produced {codec}")
    did("produced idempotently")

    def make_member():
        consumer = kafka.KafkaConsumer(
            topic, bootstrap_servers=server, group_id=f"group-of-{topic}", auto_offset_reset="earliest",
            enable_auto_commit=False, heartbeat_interval_ms=300,
        )

        def poll():
            polled = consumer.poll(timeout_ms=200)
            records = [(each.key, each.value, each.headers) for batch in polled.values() for each in batch]
            if records:
                consumer.commit()
            return records

        return Member(poll, lambda: len(consumer.assignment()), lambda: consumer.close())

    def produce_more():
        producer = kafka.KafkaProducer(bootstrap_servers=server)
        for partition in range(PARTITIONS):
            producer.send(topic, b"more", f"more-{partition}".encode(), [], partition).get(30)
        producer.close()
        return PARTITIONS

    share_and_leave(make_member, produce_more)
    offsets = admin.list_group_offsets(f"group-of-{topic}")
    if f"group-of-{topic}" in offsets:
        offsets = offsets[f"group-of-{topic}"]
    expect(sum(each.offset for each in offsets.values()), TOTAL + PARTITIONS, "committed offsets")
    did("committed offsets")
    consumer = kafka.KafkaConsumer(bootstrap_servers=server)
    parts = [kafka.TopicPartition(topic, partition) for partition in range(PARTITIONS)]
    by_time = consumer.offsets_for_times({part: 1 for part in parts})
    expect([by_time[part].offset for part in parts], [0] * PARTITIONS, "offsets at time 1")
    future = consumer.offsets_for_times({part: int(time.time() * 1000) + 3_600_000 for part in parts})
    expect([future[part] for part in parts], [None] * PARTITIONS, "offsets in the future")
    expect(sum(consumer.end_offsets(parts).values()), TOTAL + PARTITIONS, "end offsets")
    consumer.close()
    did("listed offsets by time")
    admin.delete_topics([other])
    expect(other in admin.list_topics(), False, "the deleted topic is listed")
    did("deleted a topic")
    admin.close()


def results(futures):
    return {what: future.result(30) for what, future in futures.items()}


def confluent_kafka(server, topic):
    import confluent_kafka as kafka
    from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

    did(f"confluent-kafka {kafka.version()}, librdkafka {kafka.libversion()[0]}")
    place = {"bootstrap.servers": server}
    admin = AdminClient(place)
    other = f"{topic}-other"

    results(admin.create_topics([NewTopic(topic, PARTITIONS, 1), NewTopic(other, 1, 1)]))
    did("created topics")
    described = results(admin.describe_topics(kafka.TopicCollection([topic, other])))
    expect({name: len(each.partitions) for name, each in described.items()}, {topic: PARTITIONS, other: 1}, "partitions")
    did("described topics")
    problems = []

    def delivered(error, _message):
        if error is not None:
            problems.append(error)

    for codec in CODECS:
        producer = kafka.Producer({**place, "compression.type": codec, "enable.idempotence": True, "linger.ms": 20})
        for key, value, headers in records_of(codec):
            producer.produce(topic, value, key, headers=headers, on_delivery=delivered)
        expect(producer.flush(30), 0, "records left")
        expect(problems, [], "delivery errors")
        did(f"produced {codec}")
    did("produced idempotently")

    def make_member():
        consumer = kafka.Consumer({
            **place, "group.id": f"group-of-{topic}", "auto.offset.reset": "earliest",
            "enable.auto.commit": False, "heartbeat.interval.ms": 300,
        })
        consumer.subscribe([topic])

        def poll():
            messages = consumer.consume(100, 0.2)
            for message in messages:
                if message.error() is not None:
                    raise kafka.KafkaException(message.error())
            if messages:
                consumer.commit(asynchronous=False)
            return [(each.key(), each.value(), each.headers() or []) for each in messages]

        return Member(poll, lambda: len(consumer.assignment()), consumer.close)

    def produce_more():
        producer = kafka.Producer(place)
        for partition in range(PARTITIONS):
            producer.produce(topic, b"more", f"more-{partition}".encode(), partition, on_delivery=delivered)
        expect(producer.flush(30), 0, "records left")
        expect(problems, [], "delivery errors")
        return PARTITIONS

    share_and_leave(make_member, produce_more)
    wanted = kafka.ConsumerGroupTopicPartitions(f"group-of-{topic}")
    (offsets,) = results(admin.list_consumer_group_offsets([wanted])).values()
    expect(sum(each.offset for each in offsets.topic_partitions), TOTAL + PARTITIONS, "committed offsets")
    did("committed offsets")
    parts = [kafka.TopicPartition(topic, partition) for partition in range(PARTITIONS)]

    def at(spec):
        return [each.offset for each in results(admin.list_offsets({part: spec for part in parts})).values()]

    expect(at(OffsetSpec.for_timestamp(1)), [0] * PARTITIONS, "offsets at time 1")
    expect(at(OffsetSpec.for_timestamp(int(time.time() * 1000) + 3_600_000)), [-1] * PARTITIONS, "offsets in the future")
    expect(sum(at(OffsetSpec.latest())), TOTAL + PARTITIONS, "end offsets")
    did("listed offsets by time")
    results(admin.delete_topics([other]))
    expect(other in admin.list_topics(timeout=30).topics, False, "the deleted topic is listed")
    did("deleted a topic")


async def aiokafka_client(server, topic):
    import aiokafka
    from aiokafka.admin import AIOKafkaAdminClient, NewTopic

    did(f"aiokafka {aiokafka.__version__}")
    admin = AIOKafkaAdminClient(bootstrap_servers=server)
    await admin.start()
    other = f"{topic}-other"
    await admin.create_topics([NewTopic(topic, PARTITIONS, 1), NewTopic(other, 1, 1)])
    did("created topics")
    described = {each["topic"]: each for each in await admin.describe_topics([topic, other])}
    expect({name: len(each["partitions"]) for name, each in described.items()}, {topic: PARTITIONS, other: 1}, "partitions")
    did("described topics")
    for codec in CODECS:
        compression = None if codec == "none" else codec
        producer = aiokafka.AIOKafkaProducer(bootstrap_servers=server, compression_type=compression, enable_idempotence=True)
        await producer.start()
        sent = [await producer.send(topic, value, key, headers=headers) for key, value, headers in records_of(codec)]
        await asyncio.gather(*sent)
        await producer.stop()
        did(f"produced {codec}")
    did("produced idempotently")

    records = []

    async def start_member():
        consumer = aiokafka.AIOKafkaConsumer(
            topic, bootstrap_servers=server, group_id=f"group-of-{topic}", auto_offset_reset="earliest",
            enable_auto_commit=False, heartbeat_interval_ms=300, metadata_max_age_ms=5_000,
        )
        await consumer.start()
        return consumer

    async def read_until(consumers, condition, what):
        deadline = time.monotonic() + DEADLINE_SECONDS
        while not condition():
            if time.monotonic() > deadline:
                raise AssertionError(f"not within {DEADLINE_SECONDS} s: {what}")
            for consumer in consumers:
                polled = await consumer.getmany(timeout_ms=100)
                found = [(each.key, each.value, each.headers) for batch in polled.values() for each in batch]
                if found:
                    await consumer.commit()
                records.extend(found)

    def has(consumer, parts):
        return len(consumer.assignment()) == parts

    first = await start_member()
    await read_until([first], lambda: has(first, 4) and len(records) == TOTAL, "one member reads all")
    # Its start waits for the group, which waits for the first.
    joining = asyncio.ensure_future(start_member())
    await read_until([first], joining.done, "a second member joins")
    second = joining.result()
    await read_until([first, second], lambda: has(first, 2) and has(second, 2), "two members have two partitions each")
    did("a second member joined: 2 and 2 partitions")
    producer = aiokafka.AIOKafkaProducer(bootstrap_servers=server)
    await producer.start()
    for partition in range(PARTITIONS):
        await producer.send_and_wait(topic, b"more", f"more-{partition}".encode(), partition)
    await producer.stop()
    await read_until([first, second], lambda: len(records) == TOTAL + PARTITIONS, "two members read what came")
    await second.stop()
    await read_until([first], lambda: has(first, 4), "the first has all again")
    did("the second member left: 4 partitions")
    for record in records:
        say(*record)

    offsets = await admin.list_consumer_group_offsets(f"group-of-{topic}")
    expect(sum(each.offset for each in offsets.values()), TOTAL + PARTITIONS, "committed offsets")
    did("committed offsets")
    parts = [aiokafka.TopicPartition(topic, partition) for partition in range(PARTITIONS)]
    by_time = await first.offsets_for_times({part: 1 for part in parts})
    expect([by_time[part].offset for part in parts], [0] * PARTITIONS, "offsets at time 1")
    future = await first.offsets_for_times({part: int(time.time() * 1000) + 3_600_000 for part in parts})
    expect([future[part] for part in parts], [None] * PARTITIONS, "offsets in the future")
    expect(sum((await first.end_offsets(parts)).values()), TOTAL + PARTITIONS, "end offsets")
    did("listed offsets by time")
    await first.stop()
    await admin.delete_topics([other])
    expect(other in await admin.list_topics(), False, "the deleted topic is listed")
    did("deleted a topic")
    await admin.close()


def kafka_python_configs(server, topic):
    from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient, NewTopic

    admin = KafkaAdminClient(bootstrap_servers=server)
    admin.create_topics([NewTopic(topic, 1, 1, topic_configs={"retention.ms": "86400000"})])

    def has(text):
        configs = admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)])
        if text not in str(configs):
            raise AssertionError(f"no {text} in {configs}")

    has("86400000")
    did("described configs")
    admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, {"retention.ms": "90000000"})])
    has("90000000")
    did("altered configs")
    admin.close()


def confluent_kafka_configs(server, topic):
    from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic

    admin = AdminClient({"bootstrap.servers": server})
    results(admin.create_topics([NewTopic(topic, 1, 1, config={"retention.ms": "86400000"})]))
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
    (configs,) = results(admin.describe_configs([resource])).values()
    expect(configs["retention.ms"].value, "86400000", "retention.ms")
    did("described configs")
    entry = ConfigEntry("retention.ms", "90000000", incremental_operation=AlterConfigOpType.SET)
    altered = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=[entry])
    results(admin.incremental_alter_configs([altered]))
    (configs,) = results(admin.describe_configs([resource])).values()
    expect(configs["retention.ms"].value, "90000000", "retention.ms")
    did("altered configs")


async def aiokafka_configs(server, topic):
    from aiokafka.admin import AIOKafkaAdminClient, NewTopic
    from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

    admin = AIOKafkaAdminClient(bootstrap_servers=server)
    await admin.start()
    await admin.create_topics([NewTopic(topic, 1, 1, topic_configs={"retention.ms": "86400000"})])

    async def has(text):
        configs = await admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)])
        if text not in str(configs):
            raise AssertionError(f"no {text} in {configs}")

    await has("86400000")
    did("described configs")
    await admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, {"retention.ms": "90000000"})])
    await has("90000000")
    did("altered configs")
    await admin.close()


CLIENTS = {
    "kafka-python": kafka_python,
    "confluent-kafka": confluent_kafka,
    "aiokafka": lambda server, topic: asyncio.run(aiokafka_client(server, topic)),
}

CONFIGS = {
    "kafka-python": kafka_python_configs,
    "confluent-kafka": confluent_kafka_configs,
    "aiokafka": lambda server, topic: asyncio.run(aiokafka_configs(server, topic)),
}

if __name__ == "__main__":
    _, client, port, name, *part = sys.argv
    (CONFIGS if part == ["configs"] else CLIENTS)[client](f"127.0.0.1:{port}", name)
    did("all")

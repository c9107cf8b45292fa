"""Transactions of kafka-python, confluent-kafka and aiokafka: `python-transactions.py CLIENT PORT TOPIC`.

Ten transactions of five records and an offset each, the second of every three aborted; a producer that is fenced by
another of its transactional id. Says what it did as `did: WORDS` and each value that a reader of committed records
sees as `value: TEXT`; transactions.ts checks both.
"""

import asyncio
import sys
import time

TRANSACTIONS = 10
RECORDS = 5
TIMEOUT_SECONDS = 25


def did(words):
    print(f"did: {words}", flush=True)


def expect(found, wanted, what):
    if found != wanted:
        raise AssertionError(f"{what}: {found!r}, not {wanted!r}")


def is_aborted(number):
    return number % 3 == 1


def values(number):
    outcome = "aborted" if is_aborted(number) else "committed"
    return [f"{outcome} {number} {index}".encode() for index in range(RECORDS)]


TOTAL = sum(not is_aborted(number) for number in range(TRANSACTIONS)) * RECORDS


def say(found):
    for value in found:
        print(f"value: {value.decode()}", flush=True)


def confluent_kafka(server, topic):
    import confluent_kafka as kafka

    place = {"bootstrap.servers": server}
    part = kafka.TopicPartition(f"{topic}-in", 0)
    problems = []
    plain = kafka.Producer(place)
    for name in (topic, f"{topic}-in"):
        plain.produce(name, b"committed before", partition=0)
    expect(plain.flush(TIMEOUT_SECONDS), 0, "records left")

    consumer = kafka.Consumer({**place, "group.id": f"group-of-{topic}", "enable.auto.commit": False})
    consumer.assign([part])

    def made():
        return kafka.Producer({**place, "transactional.id": f"id-of-{topic}"})

    def committed():
        return consumer.committed([part], TIMEOUT_SECONDS)[0].offset

    producer = made()
    producer.init_transactions(TIMEOUT_SECONDS)
    for number in range(TRANSACTIONS):
        before = committed()
        producer.begin_transaction()
        for value in values(number):
            producer.produce(topic, value, partition=0, on_delivery=lambda error, _: error and problems.append(error))
        offset = kafka.TopicPartition(part.topic, 0, number + 1)
        producer.send_offsets_to_transaction([offset], consumer.consumer_group_metadata(), TIMEOUT_SECONDS)
        if is_aborted(number):
            # What is still in its queue is never sent.
            producer.flush(TIMEOUT_SECONDS)
            producer.abort_transaction(TIMEOUT_SECONDS)
            expect(committed(), before, "the offset after an abort")
        else:
            producer.commit_transaction(TIMEOUT_SECONDS)
            expect(committed(), number + 1, "the offset after a commit")
    expect(problems, [], "delivery errors")
    did("committed and aborted with offsets")

    producer.begin_transaction()
    producer.produce(topic, b"aborted for it was fenced", partition=0)
    producer.flush(TIMEOUT_SECONDS)
    other = made()
    other.init_transactions(TIMEOUT_SECONDS)
    try:
        producer.commit_transaction(TIMEOUT_SECONDS)
        raise AssertionError("it was not fenced")
    except kafka.KafkaException as problem:
        error = problem.args[0]
        expect((error.code(), error.fatal()), (kafka.KafkaError._FENCED, True), f"the fault {error}")
    did("was fenced")

    reader = kafka.Consumer({
        **place, "group.id": f"readers-of-{topic}", "auto.offset.reset": "earliest", "isolation.level": "read_committed",
        "enable.partition.eof": True,
    })
    reader.assign([kafka.TopicPartition(topic, 0, 0)])
    found = []
    while True:
        message = reader.poll(TIMEOUT_SECONDS)
        if message is None:
            raise AssertionError(f"no end after {len(found)} records")
        if message.error() is None:
            found.append(message.value())
        elif message.error().code() == kafka.KafkaError._PARTITION_EOF:
            break
        else:
            raise kafka.KafkaException(message.error())
    say(found)
    consumer.close()
    reader.close()


def kafka_python(server, topic):
    import kafka
    from kafka.errors import KafkaError, ProducerFencedError
    from kafka.structs import ConsumerGroupMetadata

    part = kafka.TopicPartition(f"{topic}-in", 0)
    plain = kafka.KafkaProducer(bootstrap_servers=server)
    for name in (topic, f"{topic}-in"):
        plain.send(name, b"committed before", partition=0).get(TIMEOUT_SECONDS)
    plain.close()
    group = f"group-of-{topic}"
    consumer = kafka.KafkaConsumer(bootstrap_servers=server, group_id=group, enable_auto_commit=False)
    consumer.assign([part])

    def made():
        return kafka.KafkaProducer(bootstrap_servers=server, transactional_id=f"id-of-{topic}")

    producer = made()
    producer.init_transactions()
    for number in range(TRANSACTIONS):
        before = consumer.committed(part)
        producer.begin_transaction()
        for value in values(number):
            producer.send(topic, value, partition=0).get(TIMEOUT_SECONDS)
        producer.send_offsets_to_transaction({part: kafka.structs.OffsetAndMetadata(number + 1, "", -1)}, ConsumerGroupMetadata(group, -1, "", None))
        if is_aborted(number):
            producer.abort_transaction()
            expect(consumer.committed(part), before, "the offset after an abort")
        else:
            producer.commit_transaction()
            # It does not ask for stable offsets only: what it is told may be of before the marker.
            deadline = time.monotonic() + TIMEOUT_SECONDS
            while consumer.committed(part) != number + 1:
                expect(time.monotonic() < deadline, True, "within its time: the offset after a commit")
    did("committed and aborted with offsets")

    producer.begin_transaction()
    producer.send(topic, b"aborted for it was fenced", partition=0).get(TIMEOUT_SECONDS)
    other = made()
    other.init_transactions()
    try:
        producer.commit_transaction()
        raise AssertionError("it was not fenced")
    except KafkaError as problem:
        expect(isinstance(problem, ProducerFencedError), True, f"the fault {problem!r} is one of fencing")
    did("was fenced")

    reader = kafka.KafkaConsumer(bootstrap_servers=server, isolation_level="read_committed", auto_offset_reset="earliest")
    whole = kafka.TopicPartition(topic, 0)
    reader.assign([whole])
    reader.seek_to_beginning(whole)
    end = reader.end_offsets([whole])[whole]
    found = []
    while reader.position(whole) < end:
        for batch in reader.poll(timeout_ms=200).values():
            found.extend(each.value for each in batch)
    say(found)


async def aiokafka_client(server, topic):
    import aiokafka
    from aiokafka.errors import KafkaError, ProducerFenced

    part = aiokafka.TopicPartition(f"{topic}-in", 0)
    plain = aiokafka.AIOKafkaProducer(bootstrap_servers=server)
    await plain.start()
    for name in (topic, f"{topic}-in"):
        await plain.send_and_wait(name, b"committed before", partition=0)
    await plain.stop()
    group = f"group-of-{topic}"
    consumer = aiokafka.AIOKafkaConsumer(bootstrap_servers=server, group_id=group, enable_auto_commit=False)
    await consumer.start()
    consumer.assign([part])

    async def made():
        producer = aiokafka.AIOKafkaProducer(bootstrap_servers=server, transactional_id=f"id-of-{topic}")
        await producer.start()
        return producer

    producer = await made()
    for number in range(TRANSACTIONS):
        before = await consumer.committed(part)
        await producer.begin_transaction()
        for value in values(number):
            await producer.send_and_wait(topic, value, partition=0)
        await producer.send_offsets_to_transaction({part: number + 1}, group)
        if is_aborted(number):
            await producer.abort_transaction()
            expect(await consumer.committed(part), before, "the offset after an abort")
        else:
            await producer.commit_transaction()
            # As above.
            deadline = time.monotonic() + TIMEOUT_SECONDS
            while await consumer.committed(part) != number + 1:
                expect(time.monotonic() < deadline, True, "within its time: the offset after a commit")
    did("committed and aborted with offsets")

    await producer.begin_transaction()
    await producer.send_and_wait(topic, b"aborted for it was fenced", partition=0)
    other = await made()
    try:
        await producer.commit_transaction()
        raise AssertionError("it was not fenced")
    except KafkaError as problem:
        expect(isinstance(problem, ProducerFenced), True, f"the fault {problem!r} is one of fencing")
    did("was fenced")
    await other.stop()
    await consumer.stop()

    reader = aiokafka.AIOKafkaConsumer(bootstrap_servers=server, isolation_level="read_committed")
    await reader.start()
    whole = aiokafka.TopicPartition(topic, 0)
    reader.assign([whole])
    await reader.seek_to_beginning(whole)
    end = (await reader.end_offsets([whole]))[whole]
    found = []
    # A marker at the end has no record of its own: the last value is what is waited for.
    while await reader.position(whole) < end and len(found) < TOTAL + 1:
        for batch in (await reader.getmany(timeout_ms=200)).values():
            found.extend(each.value for each in batch)
    say(found)
    await reader.stop()


CLIENTS = {
    "confluent-kafka": confluent_kafka,
    "kafka-python": kafka_python,
    "aiokafka": lambda server, topic: asyncio.run(aiokafka_client(server, topic)),
}

if __name__ == "__main__":
    _, client, port, name = sys.argv
    CLIENTS[client](f"127.0.0.1:{port}", name)
    did("all")

// franz-go's GroupTransactSession against a broker: `transactions PORT TOPIC` copies TOPIC-in to TOPIC, of which two
// workers have a share each, and some transactions are aborted. Says each record of TOPIC that is committed.
package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"polylog.invalid/interop/report"
)

const (
	partitions = 3
	inputs     = 600
	polled     = 10
)

var ctx, stop = context.WithTimeout(context.Background(), 50*time.Second)

func client(options ...kgo.Opt) *kgo.Client {
	made, err := kgo.NewClient(options...)
	report.Check(err, "client")
	return made
}

// counts of all workers.
var committed, aborted atomic.Int64

// copyAll is a worker: each poll is a transaction, and each third is aborted, which has its records polled again.
func copyAll(ctx context.Context, address, topic string, number int, hasShare *atomic.Bool) {
	session, err := kgo.NewGroupTransactSession(kgo.SeedBrokers(address),
		kgo.TransactionalID(fmt.Sprintf("%s-%d", topic, number)), kgo.ConsumerGroup("group-of-"+topic),
		kgo.ConsumeTopics(topic+"-in"), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.RequireStableFetchOffsets(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.HeartbeatInterval(300*time.Millisecond),
		kgo.OnPartitionsAssigned(func(context.Context, *kgo.Client, map[string][]int32) { hasShare.Store(true) }))
	report.Check(err, "session")
	defer session.Close()
	for turn := 1; ; turn++ {
		fetches := session.PollRecords(ctx, polled)
		if ctx.Err() != nil {
			return
		}
		report.Check(fetches.Err(), "poll")
		report.Check(session.Begin(), "begin")
		records, failure := fetches.Records(), kgo.AbortingFirstErrPromise(session.Client())
		for _, each := range records {
			session.Produce(ctx, &kgo.Record{Topic: topic, Key: each.Key, Value: each.Value}, failure.Promise())
		}
		ended, err := session.End(ctx, kgo.TransactionEndTry(failure.Err() == nil && turn%3 != 0))
		if ctx.Err() != nil {
			return
		}
		report.Check(err, "end")
		if ended {
			committed.Add(int64(len(records)))
		} else {
			aborted.Add(int64(len(records)))
		}
	}
}

func main() {
	defer stop()
	address, topic := report.Arguments()
	plain := client(kgo.SeedBrokers(address), kgo.DefaultProduceTopic(topic+"-in"))
	admin := kadm.NewClient(plain)
	for _, each := range []string{topic + "-in", topic} {
		_, err := admin.CreateTopic(ctx, partitions, 1, nil, each)
		report.Check(err, "create")
	}
	produce := func(from, to int) {
		for i := from; i < to; i++ {
			text := []byte(fmt.Sprintf("copied-%d", i))
			report.Check(plain.ProduceSync(ctx, &kgo.Record{Key: text, Value: text}).FirstErr(), "produce")
		}
	}

	working, end := context.WithCancel(ctx)
	var workers sync.WaitGroup
	var first, second atomic.Bool
	start := func(number int, hasShare *atomic.Bool) {
		workers.Add(1)
		go func() {
			defer workers.Done()
			copyAll(working, address, topic, number, hasShare)
		}()
	}
	start(1, &first)
	produce(0, inputs/2)
	report.WaitFor("one worker copies", func() bool { return committed.Load() > 0 })
	start(2, &second)
	report.WaitFor("a second has a share", second.Load)
	report.Did("a second session joined")
	produce(inputs/2, inputs)
	report.WaitFor("everything is copied", func() bool { return committed.Load() == inputs })
	end()
	workers.Wait()
	report.Expect(aborted.Load() > 0, "some were aborted")
	report.Did("committed and aborted in sessions")

	described, err := admin.DescribeTransactions(ctx, topic+"-1", topic+"-2")
	report.Check(err, "describe transactions")
	report.Expect(len(described) == 2 && described[topic+"-1"].Err == nil, "two transactional ids")
	report.Did("described transactions")

	reader := client(kgo.SeedBrokers(address), kgo.ConsumeTopics(topic), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	ends, err := admin.ListCommittedOffsets(ctx, topic)
	report.Check(err, "committed offsets")
	for seen := 0; seen < inputs; {
		fetches := reader.PollFetches(ctx)
		report.Check(fetches.Err(), "read")
		for _, each := range fetches.Records() {
			end, known := ends.Lookup(topic, each.Partition)
			report.Expect(known && each.Offset < end.Offset, "below what is committed")
			report.Say(report.Record{Key: each.Key, Value: each.Value})
			seen++
		}
	}
	report.Did("all")
}

// Transfers between accounts as transactions, for as long as they are wanted:
//
//	bank requests PORT NAME SECONDS   asks for transfers, in three partitions of NAME-requests; says how many
//	bank worker PORT NAME NUMBER      turns each request into two legs in NAME-ledger, in one transaction with its offset
//	bank reader PORT NAME             says each leg that is committed, until it is ended
//
// A leg is `TRANSFER SIDE ACCOUNT AMOUNT ATTEMPT`: one side gives what the other takes, and both are of one attempt.
package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"polylog.invalid/interop/report"
)

const (
	accounts   = 100
	partitions = 3
	aSecond    = 200
	polled     = 20
)

var ctx = context.Background()

func main() {
	report.Expect(len(os.Args) >= 4, "arguments MODE PORT NAME")
	address, name := "127.0.0.1:"+os.Args[2], os.Args[3]
	switch os.Args[1] {
	case "requests":
		seconds, err := strconv.Atoi(os.Args[4])
		report.Check(err, "SECONDS")
		request(address, name, time.Duration(seconds)*time.Second)
	case "worker":
		work(address, name, os.Args[4])
	case "reader":
		read(address, name)
	}
}

func client(address string, options ...kgo.Opt) *kgo.Client {
	made, err := kgo.NewClient(append(options, kgo.SeedBrokers(address), kgo.RetryBackoffFn(backoff))...)
	report.Check(err, "client")
	return made
}

// The broker is away for a second or two.
func backoff(int) time.Duration { return 100 * time.Millisecond }

func request(address, name string, duration time.Duration) {
	producer := client(address, kgo.DefaultProduceTopic(name+"-requests"), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	count := 0
	for end := time.Now().Add(duration); time.Now().Before(end); time.Sleep(time.Second / aSecond) {
		from, amount := rand.IntN(accounts), 1+rand.IntN(100)
		to := (from + 1 + rand.IntN(accounts-1)) % accounts
		value := fmt.Sprintf("%d %d %d %d", count, from, to, amount)
		record := &kgo.Record{Partition: int32(count % partitions), Value: []byte(value)}
		producer.Produce(ctx, record, func(_ *kgo.Record, err error) { report.Check(err, "request") })
		count++
	}
	report.Check(producer.Flush(ctx), "flush")
	fmt.Printf("requested: %d\n", count)
}

func work(address, name, number string) {
	session, err := kgo.NewGroupTransactSession(kgo.SeedBrokers(address), kgo.RetryBackoffFn(backoff),
		kgo.TransactionalID(name+"-"+number), kgo.ConsumerGroup(name), kgo.ConsumeTopics(name+"-requests"),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.RequireStableFetchOffsets(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.SessionTimeout(6*time.Second), kgo.HeartbeatInterval(500*time.Millisecond),
		kgo.TransactionTimeout(10*time.Second))
	report.Check(err, "session")
	for {
		fetches := session.PollRecords(ctx, polled)
		records := fetches.Records()
		if len(records) == 0 {
			continue
		}
		report.Check(session.Begin(), "begin")
		failure := kgo.AbortingFirstErrPromise(session.Client())
		attempt := fmt.Sprintf("%s-%d", number, rand.Uint64())
		for _, each := range records {
			for _, leg := range legsOf(each.Value, attempt) {
				leg.Topic = name + "-ledger"
				session.Produce(ctx, leg, failure.Promise())
			}
		}
		// Now and then it changes its mind; what it does not commit it is given again.
		commit := kgo.TransactionEndTry(failure.Err() == nil && rand.IntN(20) != 0)
		// It may be fenced, or its transaction have been given up: another is started in its place.
		_, err := session.End(ctx, commit)
		report.Check(err, "end")
	}
}

func legsOf(request []byte, attempt string) []*kgo.Record {
	var transfer, from, to, amount int
	_, err := fmt.Sscanf(string(request), "%d %d %d %d", &transfer, &from, &to, &amount)
	report.Check(err, "request")
	leg := func(side string, account, change int) *kgo.Record {
		value := fmt.Sprintf("%d %s %d %d %s", transfer, side, account, change, attempt)
		return &kgo.Record{Partition: int32(account % partitions), Value: []byte(value)}
	}
	return []*kgo.Record{leg("gives", from, -amount), leg("takes", to, amount)}
}

func read(address, name string) {
	reader := client(address, kgo.ConsumeTopics(name+"-ledger"), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	for {
		reader.PollFetches(ctx).EachRecord(func(each *kgo.Record) { fmt.Printf("leg: %s\n", each.Value) })
	}
}

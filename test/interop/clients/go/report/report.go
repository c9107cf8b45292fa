// Package report is what the programs here have in common: the records that they make, and how they say what they
// did. client-program.ts reads it.
package report

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"
)

const (
	Partitions    = 4
	RecordsACodec = 10
	Total         = RecordsACodec * 5
)

var Codecs = []string{"none", "gzip", "snappy", "lz4", "zstd"}

type Header struct {
	Name  string
	Value []byte
}

type Record struct {
	Key, Value []byte
	Headers    []Header
}

// RecordsOf makes a codec's records: the last but one has no key, the last no value.
func RecordsOf(codec string) []Record {
	var records []Record
	for i := 0; i < RecordsACodec; i++ {
		record := Record{Headers: []Header{{"codec", []byte(codec)}, {"empty", []byte{}}}}
		if i != RecordsACodec-2 {
			record.Key = []byte(fmt.Sprintf("%s-%d", codec, i))
		}
		if i != RecordsACodec-1 {
			record.Value = []byte(strings.Repeat(fmt.Sprintf("%s %d ", codec, i), 20))
		}
		records = append(records, record)
	}
	return records
}

// More is a record for one partition.
func More(partition int) Record {
	return Record{Key: []byte(fmt.Sprintf("more-%d", partition)), Value: []byte("more")}
}

func Did(format string, values ...any) {
	fmt.Printf("did: "+format+"\n", values...)
}

// Say writes a record that was read.
func Say(record Record) {
	text := func(data []byte) any {
		if data == nil {
			return nil
		}
		return string(data)
	}
	headers := [][]any{}
	for _, header := range record.Headers {
		value := string(header.Value) // Whether an empty value comes as nil is the client's business.
		headers = append(headers, []any{header.Name, value})
	}
	line, err := json.Marshal(map[string]any{"key": text(record.Key), "value": text(record.Value), "headers": headers})
	Check(err, "JSON")
	fmt.Printf("record: %s\n", line)
}

// Check ends the program when err is one.
func Check(err error, what string) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", what, err)
		os.Exit(1)
	}
}

func Expect(held bool, format string, values ...any) {
	if !held {
		fmt.Fprintf(os.Stderr, "not so: "+format+"\n", values...)
		os.Exit(1)
	}
}

// WaitFor waits on the group's state, which heartbeats move.
func WaitFor(what string, condition func() bool) {
	for deadline := time.Now().Add(25 * time.Second); !condition(); time.Sleep(50 * time.Millisecond) {
		Expect(time.Now().Before(deadline), "within 25 s: %s", what)
	}
}

// Arguments are PORT TOPIC.
func Arguments() (address, topic string) {
	Expect(len(os.Args) == 3, "arguments PORT TOPIC")
	return "127.0.0.1:" + os.Args[1], os.Args[2]
}

// Package tracegen makes up the spans of a training run for tests: what it
// writes depends on its settings alone.
package tracegen

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
)

// Run is a data-parallel job. In every step each rank computes, waits for the
// others in an all-reduce, and updates its weights.
type Run struct {
	ID    string
	Ranks int
	Steps int
	// Micro is how many spans of a microbatch each forward_backward has.
	Micro int
	// SlowRank computes half as long again; none when it is below 0.
	SlowRank int
	Seed     uint64
	// Start is the time of the first span in nanoseconds since 1970.
	Start int64
	// Batch is how many spans a line holds.
	Batch int
	// Factor makes everything slower; 0 is 1.
	Factor float64
}

// Spans is how many spans a rank has.
func (r Run) Spans() int { return 1 + r.Steps*(4+r.Micro) }

// WriteRank writes the file of one rank, as the file exporter does.
func (r Run) WriteRank(w io.Writer, rank int) error {
	out := bufio.NewWriterSize(w, 1<<20)
	g := &generator{run: r, out: out, rank: rank}
	g.write()
	return out.Flush()
}

type generator struct {
	run  Run
	out  *bufio.Writer
	rank int
	n    int // spans in the line
	next uint64
}

// compute is how long a rank computes in a step, in nanoseconds. Every rank can
// tell it of every other, so that they agree when the all-reduce ends.
func (r Run) compute(step, rank int) int64 {
	rng := rand.New(rand.NewPCG(r.Seed, uint64(step)<<20|uint64(rank)))
	d := 20e6 + rng.Float64()*2e6
	if rank == r.SlowRank {
		d *= 1.5
	}
	if r.Factor != 0 {
		d *= r.Factor
	}
	return int64(d)
}

func (g *generator) id() uint64 {
	g.next++
	return (uint64(g.rank)<<40|g.next)*0x9e3779b97f4a7c15 | 1
}

func (g *generator) write() {
	r := g.run
	trace := fmt.Sprintf("%032x", r.Seed*0x9e3779b97f4a7c15|1)
	root := (r.Seed+1)*0xff51afd7ed558ccd | 1 // of rank 0, the parent of the other ranks' jobs
	job, above := root, uint64(0)
	if g.rank != 0 {
		job, above = g.id(), root
	}
	at := r.Start + 1e6
	for step := 1; step <= r.Steps; step++ {
		most := int64(0)
		for rank := range r.Ranks {
			most = max(most, r.compute(step, rank))
		}
		own := r.compute(step, g.rank)
		id, forward := g.id(), g.id()
		for m := range r.Micro {
			part := own / int64(r.Micro)
			g.span(trace, g.id(), forward, "train.microbatch", at+int64(m)*part, at+int64(m+1)*part, fmt.Sprintf(`{"key":"dl.microbatch_id","value":{"intValue":"%d"}}`, m))
		}
		g.span(trace, forward, id, "train.forward_backward", at, at+own, `{"key":"dl.batch_size","value":{"intValue":"16"}}`)
		g.span(trace, g.id(), id, "train.all_reduce", at+own, at+most+1e6, "")
		g.span(trace, g.id(), id, "train.optimizer", at+most+1e6, at+most+2e6, "")
		g.span(trace, id, job, "train.step", at, at+most+2e6,
			fmt.Sprintf(`{"key":"dl.iteration","value":{"intValue":"%d"}},{"key":"dl.loss","value":{"doubleValue":%.4f}}`, step, 1/float64(step)))
		at += most + 2e6 + 100e3
	}
	g.span(trace, job, above, "train.job", r.Start+int64(g.rank)*1000, at, "")
	if g.n > 0 {
		g.out.WriteString("]}]}]}\n")
	}
}

func (g *generator) span(trace string, id, parent uint64, name string, start, end int64, attrs string) {
	if g.n == 0 {
		fmt.Fprintf(g.out, `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"train"}},`+
			`{"key":"host.name","value":{"stringValue":"node%d"}},{"key":"nemo.run.id","value":{"stringValue":"%s"}},`+
			`{"key":"dl.rank","value":{"intValue":"%d"}},{"key":"dl.world_size","value":{"intValue":"%d"}}]},`+
			`"scopeSpans":[{"scope":{"name":"nemo.lens.helpers"},"spans":[`, g.rank/8, g.run.ID, g.rank, g.run.Ranks)
	} else {
		g.out.WriteByte(',')
	}
	above := ""
	if parent != 0 {
		above = fmt.Sprintf("%016x", parent)
	}
	fmt.Fprintf(g.out, `{"traceId":"%s","spanId":"%016x","parentSpanId":"%s","flags":257,"name":"%s","kind":1,"startTimeUnixNano":"%d","endTimeUnixNano":"%d","attributes":[%s],"status":{}}`,
		trace, id, above, name, start, end, attrs)
	if g.n++; g.n >= g.run.Batch {
		g.out.WriteString("]}]}]}\n")
		g.n = 0
	}
}

package flight

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// Options say whose file it is.
type Options struct {
	Dir             string // made if need be
	RunID           string
	Host            string
	Service         string
	Rank, WorldSize int
	Restart         int // how often the launcher has restarted the run, 0 for the first start
	Slots           int // 0: DefaultSlots; rounded up to a multiple of 16

	// Redact reports whether text under the key must not be kept. nil: attributes
	// come redacted.
	Redact func(key string) bool
	// OnFault is told, once and on a goroutine of its own, that the recorder has
	// stopped or that its file is gone. nil: nobody is.
	OnFault func(error)
}

// Recorder writes the file of this process. Its methods are safe for concurrent
// use, and on a nil Recorder they do nothing.
type Recorder struct {
	path    string
	mem     []byte
	file    *os.File
	began   time.Time // of which the file counts
	start   int64
	redact  func(string) bool
	onFault func(error)

	tick    atomic.Int64 // the monotonic clock at the last sign of life
	beats   uint64       // used by one goroutine
	stopped atomic.Bool
	said    atomic.Bool
	quit    chan struct{}
	done    chan struct{}
	close   sync.Once

	perShard uint32
	shards   [shardCount]shard
}

// Open makes the file and starts to show signs of life in it. Where files cannot be
// mapped the error is [errors.ErrUnsupported].
func Open(o Options) (_ *Recorder, err error) {
	switch {
	case o.Dir == "":
		return nil, errors.New("flight recorder: no directory is named")
	case o.Slots < 0 || o.Slots > MaxSlots:
		return nil, fmt.Errorf("flight recorder: %d slots: want 1 to %d, or 0 for %d", o.Slots, MaxSlots, DefaultSlots)
	case o.Slots == 0:
		o.Slots = DefaultSlots
	}
	// A shard needs a slot for open spans and one for ended ones.
	perShard := max((o.Slots+shardCount-1)/shardCount, 2)
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("flight recorder: the directory: %w", err)
	}
	now := time.Now()
	path := filepath.Join(o.Dir, fileName(o, os.Getpid(), now))
	// Only a file that is complete gets its name.
	making := path + ".tmp"
	size := headerSize + perShard*shardCount*slotSize
	file, mem, err := create(making, size)
	if err != nil {
		_ = os.Remove(making)
		return nil, fmt.Errorf("flight recorder: a file of %d bytes in %s: %w", size, o.Dir, err)
	}
	r := &Recorder{
		path: path, mem: mem, file: file, began: now, start: now.UnixNano(), redact: o.Redact, onFault: o.OnFault,
		perShard: uint32(perShard), quit: make(chan struct{}), done: make(chan struct{}),
	}
	for i := range r.shards {
		r.shards[i].init(perShard)
	}
	r.writeHeader(o)
	r.beat()
	if r.stopped.Load() {
		err = errors.New("writing to it failed at once")
	} else {
		err = os.Rename(making, path)
	}
	if err != nil {
		unmap(mem)
		_ = file.Close()
		_ = os.Remove(making)
		return nil, fmt.Errorf("flight recorder: %s: %w", making, err)
	}
	go r.live()
	return r, nil
}

func (r *Recorder) writeHeader(o Options) {
	defer r.faulted(debug.SetPanicOnFault(true))
	h, n := r.mem[:headerSize], binary.NativeEndian
	copy(h[hMagic:], magic)
	n.PutUint32(h[hOrder:], orderMark)
	n.PutUint32(h[hVersion:], version)
	n.PutUint32(h[hHeaderSize:], headerSize)
	n.PutUint32(h[hSlotSize:], slotSize)
	n.PutUint32(h[hSlots:], r.perShard*shardCount)
	n.PutUint32(h[hShards:], shardCount)
	n.PutUint64(h[hFileSize:], uint64(len(r.mem)))
	n.PutUint64(h[hStart:], uint64(r.start))
	n.PutUint64(h[hPID:], uint64(os.Getpid()))
	n.PutUint32(h[hRank:], uint32(int32(o.Rank)))
	n.PutUint32(h[hWorldSize:], uint32(int32(o.WorldSize)))
	n.PutUint32(h[hRestart:], uint32(int32(o.Restart)))
	at := hTexts
	for _, text := range []string{o.RunID, o.Host, o.Service} {
		text, _ = cut(text, maxText)
		n.PutUint16(h[at:], uint16(len(text)))
		at += 2 + copy(h[at+2:], text)
	}
	n.PutUint32(h[hChecksum:], checksum(h))
}

// checksum is over what never changes of a header, without itself.
func checksum(h []byte) uint32 {
	sum := crc32.ChecksumIEEE(h[:hChecksum])
	return crc32.Update(sum, crc32.IEEETable, h[hTexts:hBeats])
}

// Path returns the name of the file.
func (r *Recorder) Path() string {
	if r == nil {
		return ""
	}
	return r.path
}

// beatEvery is the time between two signs of life.
const beatEvery = time.Second

func (r *Recorder) live() {
	defer close(r.done)
	ticker := time.NewTicker(beatEvery)
	defer ticker.Stop()
	for {
		select {
		case <-r.quit:
			return
		case <-ticker.C:
			if r.stopped.Load() {
				return
			}
			if err := r.check(); err != nil {
				r.fault(err)
			}
			r.beat()
		}
	}
}

// check looks for what others do to the file.
func (r *Recorder) check() error {
	info, err := r.file.Stat()
	switch {
	case err != nil:
		return nil // says nothing about the memory
	case info.Size() < int64(len(r.mem)):
		r.stopped.Store(true)
		return fmt.Errorf("flight recorder: somebody has truncated %s to %d bytes; it records no more", r.path, info.Size())
	case deleted(info):
		return fmt.Errorf("flight recorder: somebody has deleted %s; what this process does cannot be read after it has died", r.path)
	}
	return nil
}

func (r *Recorder) fault(err error) {
	if r.said.CompareAndSwap(false, true) && r.onFault != nil {
		go r.onFault(err)
	}
}

func (r *Recorder) beat() {
	defer r.faulted(debug.SetPanicOnFault(true))
	if r.stopped.Load() {
		return
	}
	now := time.Now()
	tick := int64(now.Sub(r.began))
	r.tick.Store(tick)
	r.beats += 2
	var started, ended uint64
	for i := range r.shards {
		sh := &r.shards[i]
		// In this order, or a span could have ended that has not started.
		ended += sh.given.Load() - uint64(r.perShard)
		started += sh.taken.Load()
	}
	cell := hBeats + beatSize*int(r.beats/2%2)
	r.store(cell, r.beats-1)
	r.store(cell+8, uint64(now.UnixNano()))
	r.store(cell+16, uint64(tick))
	r.store(cell+24, started)
	r.store(cell+32, ended)
	r.store(cell, r.beats)
}

// word and half are numbers of the file that a reader sees whole.
func (r *Recorder) word(at int) *atomic.Uint64 {
	return (*atomic.Uint64)(unsafe.Pointer(&r.mem[at]))
}

func (r *Recorder) half(at int) *atomic.Uint32 {
	return (*atomic.Uint32)(unsafe.Pointer(&r.mem[at]))
}

func (r *Recorder) store(at int, v uint64) { publish(r.word(at), v) }

// faulted is deferred by everything that touches the file, with what
// debug.SetPanicOnFault returned.
func (r *Recorder) faulted(before bool) {
	debug.SetPanicOnFault(before)
	p := recover()
	if p == nil {
		return
	}
	if e, ok := p.(interface {
		error
		Addr() uintptr
	}); ok {
		if base := uintptr(unsafe.Pointer(unsafe.SliceData(r.mem))); e.Addr() >= base && e.Addr()-base < uintptr(len(r.mem)) {
			r.stopped.Store(true)
			r.fault(fmt.Errorf("flight recorder: %s cannot be written to (%w): it was truncated, or its file system is full or gone; it records no more", r.path, e))
			return
		}
	}
	panic(p)
}

// Start is what is known of a span when it starts.
type Start struct {
	TraceID    trace.TraceID
	SpanID     trace.SpanID
	ParentID   trace.SpanID // all zero for a root span
	Start      int64        // Unix nanoseconds
	Name       string
	Group      string
	Attributes []attribute.KeyValue
}

// Begin records an open span. What it returns is for End and SetAttributes; 0 when
// the span has no slot. Its arguments are not kept.
func (r *Recorder) Begin(s *Start) (slot int32) {
	if r == nil || r.stopped.Load() {
		return 0
	}
	defer r.faulted(debug.SetPanicOnFault(true))
	index, ok := r.take(uint32(s.SpanID[7]))
	if !ok {
		r.word(hMissed).Add(1)
		r.word(hMissedOpen).Add(1)
		return 0
	}
	at := headerSize + int(index)*slotSize
	b := (*[slotSize]byte)(r.mem[at:])
	sequence := r.word(at + sSequence)
	before := binary.NativeEndian.Uint64(b[sSequence:]) // nobody else has the slot
	publish(sequence, before+1)

	n := binary.NativeEndian
	n.PutUint64(b[sEnd:], 0)
	n.PutUint64(b[sStart:], uint64(s.Start))
	n.PutUint64(b[sTick:], uint64(r.tick.Load()))
	*(*trace.TraceID)(b[sTraceID:]) = s.TraceID
	*(*trace.SpanID)(b[sSpanID:]) = s.SpanID
	*(*trace.SpanID)(b[sParentID:]) = s.ParentID
	name, nameCut := cut(s.Name, maxName)
	group, groupCut := cut(s.Group, maxGroup)
	b[sNameLen], b[sGroupLen], b[sCut] = uint8(len(name)), uint8(len(group)), 0
	if nameCut || groupCut {
		b[sCut] = 1
	}
	end := sPayload + copy(b[sPayload:], name)
	end += copy(b[end:], group)
	n.PutUint32(b[sAttributes:], r.appendAll(b[:], end, 0, s.Attributes))
	publish(sequence, before+2)
	return int32(index) + 1
}

// SetAttributes adds attributes of an open span, those that there is room for. It
// must not run at the same time as another call for the same slot.
func (r *Recorder) SetAttributes(slot int32, attrs []attribute.KeyValue) {
	if r == nil || slot <= 0 || len(attrs) == 0 || r.stopped.Load() {
		return
	}
	defer r.faulted(debug.SetPanicOnFault(true))
	at := headerSize + int(slot-1)*slotSize
	b := r.mem[at : at+slotSize : at+slotSize]
	end := sPayload + int(b[sNameLen]) + int(b[sGroupLen])
	publishHalf(r.half(at+sAttributes), r.appendAll(b, end, binary.NativeEndian.Uint32(b[sAttributes:]), attrs))
}

// End records that the span in the slot has ended, at Unix nanoseconds. It must be
// called once for each Begin, also for one that returned 0.
func (r *Recorder) End(slot int32, end int64, status codes.Code) {
	if r == nil || r.stopped.Load() {
		return
	}
	defer r.faulted(debug.SetPanicOnFault(true))
	if slot <= 0 {
		r.word(hMissedOpen).Add(^uint64(0))
		return
	}
	index := uint32(slot - 1)
	word := uint64((end-r.start)<<endShift) | endUnset
	switch status {
	case codes.Ok:
		word += endOK - endUnset
	case codes.Error:
		word += endError - endUnset
	}
	publish(r.word(headerSize+int(index)*slotSize+sEnd), word)
	r.giveBack(index)
}

// Close marks the file as that of a process that has ended in order, stops, and lets
// go of the file. Spans that are open then stay open in the file. It may run at the
// same time as the other methods.
func (r *Recorder) Close() {
	if r == nil {
		return
	}
	r.close.Do(func() {
		close(r.quit)
		<-r.done
		r.beat()
		r.markClosed()
		r.stopped.Store(true)
		r.said.Store(true) // a span that is still on its way into the file may fault now
		_ = r.file.Close()
		seal(r.mem)
		// Nobody is on the way into it once nobody has the recorder.
		runtime.AddCleanup(r, unmap, r.mem)
	})
}

func (r *Recorder) markClosed() {
	defer r.faulted(debug.SetPanicOnFault(true))
	if !r.stopped.Load() {
		r.store(hClosed, uint64(time.Now().UnixNano()))
	}
}

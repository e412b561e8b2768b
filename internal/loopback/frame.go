package loopback

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
)

// A frame is 16 bytes of header, big endian, and a payload:
//
//	0  2  "lb"
//	2  1  version, 1
//	3  1  kind
//	4  4  sequence number of the operation, from 1; 0 outside operations
//	8  4  argument: the sender in a hello, the root in a broadcast, the rank to
//	      blame in an abort, else 0
//	12 4  length of the payload
type frame struct {
	kind    kind
	seq     uint32
	arg     uint32
	payload []byte
}

type kind uint8

const (
	kindHello   kind = iota + 1 // payload: see greeting
	kindWelcome                 // every rank has joined
	kindBroadcast
	kindSum // payload: float64, little endian
	kindMean
	kindBarrier
	kindAbort // payload: text
	kindBye   // the sender leaves in order
	kindEnd
)

var kindNames = [kindEnd]string{"", "hello", "welcome", "broadcast", "all-reduce (sum)", "all-reduce (mean)", "barrier", "abort", "bye"}

func (k kind) String() string {
	if k > 0 && k < kindEnd {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

const (
	headerSize   = 16
	frameVersion = 1

	// Of a payload whose length a peer only claims, this much is allocated at
	// once; the rest follows as the bytes arrive.
	trusted = 64 << 10
)

// maxText is the longest text of an abort; every reader takes as much.
const maxText = 2 << 10

func abort(rank int, text string) frame {
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText-3], "") + "..."
	}
	return frame{kind: kindAbort, arg: uint32(rank), payload: []byte(text)}
}

// text returns the payload of an abort from another process.
func (f frame) text() string { return strings.ToValidUTF8(string(f.payload), "\uFFFD") }

func appendFrame(dst []byte, f frame) []byte {
	dst = append(dst, 'l', 'b', frameVersion, byte(f.kind))
	dst = binary.BigEndian.AppendUint32(dst, f.seq)
	dst = binary.BigEndian.AppendUint32(dst, f.arg)
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(f.payload)))
	return append(dst, f.payload...)
}

// readFrame reads one frame with a payload of at most limit bytes. io.EOF, and
// nothing else, means that the stream ended between two frames.
func readFrame(r io.Reader, limit int) (frame, error) {
	var h [headerSize]byte
	if n, err := io.ReadFull(r, h[:]); err != nil {
		if n > 0 {
			err = fmt.Errorf("a frame ends after %d of %d header bytes: %w", n, headerSize, unexpected(err))
		}
		return frame{}, err
	}
	f := frame{kind: kind(h[3]), seq: binary.BigEndian.Uint32(h[4:]), arg: binary.BigEndian.Uint32(h[8:])}
	size := binary.BigEndian.Uint32(h[12:])
	switch {
	case h[0] != 'l' || h[1] != 'b':
		return frame{}, fmt.Errorf("malformed frame: it begins with %q, want \"lb\"", h[:2])
	case h[2] != frameVersion:
		return frame{}, fmt.Errorf("malformed frame: version %d, want %d", h[2], frameVersion)
	case f.kind == 0 || f.kind >= kindEnd:
		return frame{}, fmt.Errorf("malformed frame: unknown %v", f.kind)
	case uint64(size) > uint64(max(limit, 0)):
		return frame{}, fmt.Errorf("oversized %v frame: a payload of %d bytes, the limit is %d", f.kind, size, limit)
	case size == 0:
		return f, nil
	}
	var payload bytes.Buffer
	payload.Grow(int(min(size, trusted)))
	if n, err := io.CopyN(&payload, r, int64(size)); err != nil {
		return frame{}, fmt.Errorf("a %v frame ends after %d of %d payload bytes: %w", f.kind, n, size, unexpected(err))
	}
	f.payload = payload.Bytes()
	return f, nil
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func encodeFloats(values []float64) []byte {
	out := make([]byte, 0, 8*len(values))
	for _, v := range values {
		out = binary.LittleEndian.AppendUint64(out, math.Float64bits(v))
	}
	return out
}

// decodeFloats fills into, which has as many values as data must hold.
func decodeFloats(into []float64, data []byte) error {
	if len(data) != 8*len(into) {
		return fmt.Errorf("%d bytes, want %d values of 8 bytes", len(data), len(into))
	}
	for i := range into {
		into[i] = math.Float64frombits(binary.LittleEndian.Uint64(data[8*i:]))
	}
	return nil
}

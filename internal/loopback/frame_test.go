package loopback

import (
	"bytes"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const testLimit = 1 << 10

var samples = []frame{
	{kind: kindHello, arg: 3, payload: []byte(`{"world_size":4,"key":"k"}`)},
	{kind: kindWelcome},
	{kind: kindBroadcast, seq: 1, arg: 2, payload: []byte("{}")},
	{kind: kindSum, seq: 1<<32 - 1, payload: encodeFloats([]float64{1, -2.5})},
	{kind: kindBarrier, seq: 7},
	abort(5, "it gave up"),
	{kind: kindBye},
}

func TestFramesComeBack(t *testing.T) {
	t.Parallel()
	var stream []byte
	for _, f := range samples {
		stream = appendFrame(stream, f)
	}
	for _, r := range []io.Reader{bytes.NewReader(stream), iotest.OneByteReader(bytes.NewReader(stream)), iotest.DataErrReader(bytes.NewReader(stream))} {
		for _, want := range samples {
			got, err := readFrame(r, testLimit)
			require.NoError(t, err)
			assert.Equal(t, want, got)
		}
		_, err := readFrame(r, testLimit)
		assert.Equal(t, io.EOF, err)
	}
}

func TestBadFrames(t *testing.T) {
	t.Parallel()
	good := appendFrame(nil, frame{kind: kindSum, seq: 1, payload: make([]byte, 16)})
	edit := func(at int, b byte) []byte {
		out := bytes.Clone(good)
		out[at] = b
		return out
	}
	for _, test := range []struct {
		data  []byte
		limit int
		want  string
	}{
		{[]byte("GET / HTTP/1.1\r\n"), testLimit, `it begins with "GE"`},
		{edit(2, 9), testLimit, "version 9, want 1"},
		{edit(3, 0), testLimit, "unknown kind 0"},
		{edit(3, 200), testLimit, "unknown kind 200"},
		{good, 15, "oversized all-reduce (sum) frame: a payload of 16 bytes, the limit is 15"},
		{good, -1, "oversized"},
		{edit(12, 0xff), testLimit, "oversized"},
		{good[:7], testLimit, "ends after 7 of 16 header bytes"},
		{good[:16], testLimit, "ends after 0 of 16 payload bytes"},
		{good[:30], testLimit, "ends after 14 of 16 payload bytes"},
	} {
		_, err := readFrame(bytes.NewReader(test.data), test.limit)
		assert.ErrorContains(t, err, test.want)
		assert.NotErrorIs(t, err, io.EOF, "a broken frame is no orderly end: %v", err)
	}
}

// A length is a claim: a peer that lies about it does not make us allocate.
func TestAClaimedLengthIsNotAllocated(t *testing.T) {
	const claimed = 1 << 30
	header := appendFrame(nil, frame{kind: kindSum, seq: 1})
	copy(header[12:], []byte{0x40, 0, 0, 0})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := readFrame(bytes.NewReader(header), claimed)
	runtime.ReadMemStats(&after)
	assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(claimed/100))
}

func TestAbortTextIsShortened(t *testing.T) {
	t.Parallel()
	f := abort(1, strings.Repeat("é", maxText))
	assert.LessOrEqual(t, len(f.payload), maxText)
	assert.True(t, utf8.Valid(f.payload))
	assert.True(t, strings.HasSuffix(f.text(), "é..."))
	assert.Equal(t, "a\uFFFDb", frame{payload: []byte("a\xffb")}.text())
}

func TestMeetingFile(t *testing.T) {
	t.Parallel()
	m, err := parseMeeting([]byte(`{"addr":"127.0.0.1:80","key":"k"}`))
	require.NoError(t, err)
	assert.Equal(t, meeting{"127.0.0.1:80", "k"}, m)
	for _, text := range []string{"", `{"addr":"127.0`, `{}`, `[]`, `{"addr":"nowhere"}`} {
		_, err := parseMeeting([]byte(text))
		assert.ErrorContains(t, err, "rendezvous file", "%q", text)
	}
}

func FuzzFrame(f *testing.F) {
	var stream []byte
	for _, s := range samples {
		one := appendFrame(nil, s)
		f.Add(one)
		f.Add(one[:len(one)-1])
		stream = append(stream, one...)
	}
	f.Add(stream)
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bytes.NewReader(data)
		var again []byte
		for {
			fr, err := readFrame(r, testLimit)
			if err != nil {
				if err == io.EOF && r.Len() != 0 {
					t.Fatalf("an orderly end with %d bytes left", r.Len())
				}
				break
			}
			if len(fr.payload) > testLimit {
				t.Fatalf("a payload of %d bytes over the limit", len(fr.payload))
			}
			again = appendFrame(again, fr)
		}
		if !bytes.HasPrefix(data, again) {
			t.Fatalf("what was read, written again, differs: %x, from %x", again, data)
		}
	})
}

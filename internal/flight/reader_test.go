//go:build unix && !aix && !solaris && !illumos

package flight

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
)

// whole is a file with an open and a finished span.
func whole(t testing.TB) []byte {
	t.Helper()
	r := open(t, Options{RunID: "run-1", Host: "node", Service: "trainer", Rank: 1, WorldSize: 2, Slots: 32})
	r.Begin(start("train.step", attribute.Int("dl.iteration", 7), attribute.String("phase", "x"), attribute.Bool("b", true), attribute.Float64("f", 1)))
	done := start("train.forward")
	r.End(r.Begin(done), done.Start+1, codes.Ok)
	data, err := os.ReadFile(r.Path())
	require.NoError(t, err)
	return data
}

func sealed(data []byte) []byte {
	binary.NativeEndian.PutUint32(data[hChecksum:], checksum(data))
	return data
}

func TestAnyFileGivesAClearMessage(t *testing.T) {
	good := whole(t)
	change := func(do func(b []byte)) []byte {
		b := append([]byte{}, good...)
		do(b)
		return b
	}
	n := binary.NativeEndian
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"nothing":         {nil, "is empty"},
		"another program": {[]byte("#!/bin/sh\n"), `is not the file of a flight recorder: it does not begin with "NEMOFLGT"`},
		"half a magic":    {good[:5], `is not the file of a flight recorder: it does not begin with "NEMOFLGT"`},
		"a few numbers":   {good[:20], "ends after 20 bytes, in the middle of its header of 4096"},
		"half a header":   {good[:2000], "ends after 2000 bytes, in the middle of its header of 4096"},
		"another version": {sealed(change(func(b []byte) { n.PutUint32(b[hVersion:], 7) })),
			"has version 7 of the format, and this program reads version 1: read it with the version of lens that wrote it"},
		"a bit of the header": {change(func(b []byte) { b[hRank] ^= 1 }), "has a damaged header: its checksum is wrong"},
		"a bit of the run id": {change(func(b []byte) { b[hTexts+3] ^= 1 }), "has a damaged header: its checksum is wrong"},
		"no byte order":       {change(func(b []byte) { b[hOrder] = 0 }), "has a damaged header: its byte order cannot be told"},
		"a billion slots": {sealed(change(func(b []byte) { n.PutUint32(b[hSlots:], 1<<30) })),
			"has a header of 4096 bytes and 1073741824 slots of 320: version 1 has 4096, at most 65536, and 320"},
		"a long text": {sealed(change(func(b []byte) { n.PutUint16(b[hTexts:], 60_000) })), "has a damaged header: a text of 60000 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(c.data)
			require.EqualError(t, err, c.want)
			var format *FormatError
			require.ErrorAs(t, err, &format)

			path := filepath.Join(t.TempDir(), "a.flight")
			require.NoError(t, os.WriteFile(path, c.data, 0o600))
			_, err = Read(path)
			assert.EqualError(t, err, path+": "+c.want)
		})
	}
	_, err := Read(filepath.Join(t.TempDir(), "none.flight"))
	assert.ErrorIs(t, err, fs.ErrNotExist)
	_, err = Read(t.TempDir())
	assert.ErrorContains(t, err, "is not a regular file")
	big := filepath.Join(t.TempDir(), "big.flight")
	require.NoError(t, os.WriteFile(big, nil, 0o600))
	require.NoError(t, os.Truncate(big, 1<<40))
	_, err = Read(big)
	assert.ErrorContains(t, err, "has 1099511627776 bytes: the file of a flight recorder has at most")
}

func TestAPageLostAtTheEnd(t *testing.T) {
	data := whole(t)
	f, err := Parse(data[:len(data)-4096])
	require.NoError(t, err)
	assert.Equal(t, 13, f.Absent, "4096 bytes are 12 slots and a part of one")
	f, err = Parse(data[:headerSize])
	require.NoError(t, err)
	assert.Equal(t, 32, f.Absent)
	assert.Equal(t, "run-1", f.RunID)
}

func TestASlotThatIsBeingFilledIsLeftOut(t *testing.T) {
	data := whole(t)
	filled := 0
	for at := headerSize; at < len(data); at += slotSize {
		if seq := binary.NativeEndian.Uint64(data[at:]); seq != 0 {
			binary.NativeEndian.PutUint64(data[at:], seq+1)
			filled++
		}
	}
	f, err := Parse(data)
	require.NoError(t, err)
	assert.Equal(t, 2, filled)
	assert.Equal(t, filled, f.Unfinished)
	assert.Empty(t, f.Open)
	assert.Empty(t, f.Ended)
}

// The wall clock goes back an hour while a span is open; its age is by the other
// clock.
func TestAClockThatJumped(t *testing.T) {
	data := whole(t)
	n := binary.NativeEndian
	f, err := Parse(data)
	require.NoError(t, err)
	assert.Zero(t, f.ClockJump())

	cell := hBeats + beatSize // the first sign of life is in the second cell
	require.EqualValues(t, 2, n.Uint64(data[cell:]))
	n.PutUint64(data[cell+8:], uint64(f.Start.Add(-time.Hour).UnixNano()))
	n.PutUint64(data[cell+16:], uint64(10*time.Second))
	f, err = Parse(data)
	require.NoError(t, err)
	assert.Equal(t, -time.Hour-10*time.Second, f.ClockJump())
	require.Len(t, f.Open, 1)
	assert.InDelta(t, 10, f.Age(&f.Open[0]).Seconds(), 1)
}

// A file of a machine with the other byte order is read all the same.
func TestTheOtherByteOrder(t *testing.T) {
	data := whole(t)
	f, err := Parse(data)
	require.NoError(t, err)
	swap := func(at, size int) {
		for i := range size / 2 {
			data[at+i], data[at+size-1-i] = data[at+size-1-i], data[at+i]
		}
	}
	for _, at := range []int{hOrder, hVersion, hHeaderSize, hSlotSize, hSlots, hShards, hRank, hWorldSize, hRestart} {
		swap(at, 4)
	}
	for _, at := range []int{hFileSize, hStart, hPID, hClosed, hMissed, hMissedOpen} {
		swap(at, 8)
	}
	for at := hBeats; at < hClosed; at += 8 {
		swap(at, 8)
	}
	at := hTexts
	for _, text := range []string{"run-1", "node", "trainer"} {
		swap(at, 2)
		at += 2 + len(text)
	}
	n := binary.ByteOrder(binary.BigEndian)
	if n.Uint32(data[hOrder:]) != orderMark {
		n = binary.LittleEndian
	}
	n.PutUint32(data[hChecksum:], checksum(data))
	for at := headerSize; at < len(data); at += slotSize {
		b := data[at:]
		if [8]byte(b) == [8]byte{} {
			continue
		}
		for _, word := range []int{sSequence, sEnd, sStart, sTick} {
			swap(at+word, 8)
		}
		swap(at+sAttributes, 4)
		end := sPayload + int(b[sNameLen]) + int(b[sGroupLen])
		for b[end] != 0 {
			if b[end+1] == typeString {
				end += 3 + int(b[end+2]) + int(b[end])
				continue
			}
			swap(at+end+2, 8)
			end += 10 + int(b[end])
		}
	}
	other, err := Parse(data)
	require.NoError(t, err)
	assert.Equal(t, f, other)
}

func FuzzParse(f *testing.F) {
	good := whole(f)
	f.Add(good, false)
	f.Add(good[:len(good)-1000], true)
	f.Add(good[:2000], true)
	f.Add([]byte{}, false)
	f.Fuzz(func(t *testing.T, data []byte, seal bool) {
		if seal && len(data) >= headerSize {
			data = sealed(append([]byte{}, data...)) // or it would hardly come past the checksum
		}
		file, err := Parse(data)
		if err != nil {
			var format *FormatError
			if !errors.As(err, &format) || format.Reason == "" {
				t.Fatalf("%v", err)
			}
			return
		}
		for _, s := range append(file.Open, file.Ended...) {
			if len(s.Name) > 3*maxName || len(s.Attributes) > slotSize {
				t.Fatalf("%+v", s)
			}
			if file.Age(&s) < 0 {
				t.Fatal("an age below 0")
			}
			_ = fmt.Sprint(s)
		}
	})
}

package flight

// The layout of the file. Numbers have the byte order of the machine that wrote
// them, which the header tells. Every number that is stored at once is aligned.
const (
	magic     = "NEMOFLGT"
	version   = 1
	orderMark = 0x0a0b0c0d

	headerSize = 4096
	shardCount = 16
	slotSize   = 320

	// DefaultSlots is the number of slots of a file when none is given.
	DefaultSlots = 256
	// MaxSlots is the most that can be had; a file is then 20 MiB.
	MaxSlots = 1 << 16
)

// In the header. What is before hBeats never changes once the file has its name,
// and hChecksum is over it.
const (
	hMagic      = 0
	hOrder      = 8  // uint32
	hVersion    = 12 // uint32
	hHeaderSize = 16 // uint32
	hSlotSize   = 20 // uint32
	hSlots      = 24 // uint32
	hShards     = 28 // uint32
	hFileSize   = 32 // uint64
	hStart      = 40 // int64: Unix nanoseconds; the monotonic clock counts from here
	hPID        = 48 // int64
	hRank       = 56 // int32
	hWorldSize  = 60 // int32
	hRestart    = 64 // int32
	hChecksum   = 68 // uint32
	hTexts      = 72 // run id, host and service, each a uint16 and as many bytes
	hBeats      = 1024

	maxText = 300 // bytes of a text

	// A sign of life is written to one of two cells in turn, so that one is whole
	// whenever the process is killed: number of the cell, odd while it is written,
	// wall clock in Unix nanoseconds, monotonic clock, spans with a slot that have
	// started and ended, 8 bytes each.
	beatSize    = 64
	hClosed     = hBeats + 2*beatSize // int64: Unix nanoseconds; 0 unless it ended in order
	hMissed     = hClosed + 8         // uint64: spans that had no slot
	hMissedOpen = hClosed + 16        // uint64: those of them that are open
)

// In a slot.
const (
	sSequence   = 0  // uint64: odd while the slot is filled, 0 if it never was
	sEnd        = 8  // int64: 0 while open, else nanoseconds from the start of the process, shifted, and a status
	sStart      = 16 // int64: Unix nanoseconds
	sTick       = 24 // int64: the monotonic clock at the last sign of life before the start
	sTraceID    = 32
	sSpanID     = 48
	sParentID   = 56
	sNameLen    = 64 // uint8
	sGroupLen   = 65 // uint8
	sCut        = 66 // uint8: name or group are longer than what is here
	sAttributes = 68 // uint32: bytes of attributes; the highest bit: some are missing
	sPayload    = 72 // name, group, attributes

	maxName  = 96
	maxGroup = 40
	maxKey   = 64
	maxValue = 64

	endShift = 2
	// The status of a finished span, never 0.
	endUnset = 1
	endOK    = 2
	endError = 3

	someMissing = 1 << 31
)

// An attribute: length of the key, type, value (8 bytes or a length and bytes), key.
const (
	typeBool   = 1
	typeInt    = 2
	typeFloat  = 3
	typeString = 4
	typeCut    = 5 // a string that goes on
)

package strategy

import (
	"crypto/fips140"
	"crypto/md5"
	"encoding/binary"
	"strconv"
)

// Buckets is the number of buckets that ranks are spread over, and so the
// resolution of a sample rate: 1/10000.
const Buckets = 10000

// wrap is 2^64 mod Buckets: the weight of the upper half of a 128-bit integer
// once both halves are reduced.
const wrap = 1616

// Bucket returns the bucket of rank, 0 to 9999. A negative rank is hashed with
// its minus sign, as the reference does. It allocates nothing.
func Bucket(rank int) int {
	var buf [20]byte
	sum := digest(strconv.AppendInt(buf[:0], int64(rank), 10))
	hi := binary.BigEndian.Uint64(sum[:8]) % Buckets
	lo := binary.BigEndian.Uint64(sum[8:]) % Buckets
	return int((hi*wrap + lo) % Buckets)
}

// Keep reports whether rank is among the share rate (0 to 1) of ranks that
// export. The answer depends on nothing but its arguments; the world size
// plays no part, so a small job can get no exporter at all. A rate of 0 or
// less and NaN keep nothing, 1 and more keep everything.
func Keep(rank int, rate float64) bool {
	return float64(Bucket(rank))/Buckets < rate
}

// digest is MD5 of text. Under GODEBUG=fips140=only the standard library
// panics on MD5; the hash is no security function, so enforcement is lifted
// for this one call.
func digest(text []byte) [md5.Size]byte {
	if !fips140.Enforced() {
		return md5.Sum(text)
	}
	return digestUnenforced(string(text))
}

func digestUnenforced(text string) (sum [md5.Size]byte) {
	fips140.WithoutEnforcement(func() { sum = md5.Sum([]byte(text)) })
	return sum
}

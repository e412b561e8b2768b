package flight

import (
	"fmt"
	"hash/crc32"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Suffix is what the names of the files end with.
const Suffix = ".flight"

const nameTime = "20060102T150405.000000000"

// fileName keeps processes, and the starts of one process number, apart.
func fileName(o Options, pid int, start time.Time) string {
	return fmt.Sprintf("%s-rank%05d-%s-%d-%s%s", RunInName(o.RunID), o.Rank, fileSafe(o.Host, "host"), pid,
		start.UTC().Format(nameTime), Suffix)
}

var nameForm = regexp.MustCompile(`^([A-Za-z0-9._-]+)-rank(\d{5,9})-([A-Za-z0-9._-]+)-(\d+)-(\d{8}T\d{6}\.\d{9})\.flight$`)

// ParseName reads what the name of a file tells, so that the files of a run can be
// told without being opened. It reports false for a name that another gave.
func ParseName(path string) (run string, rank int, start time.Time, ok bool) {
	m := nameForm.FindStringSubmatch(filepath.Base(path))
	if m == nil {
		return "", 0, time.Time{}, false
	}
	rank, err := strconv.Atoi(m[2])
	if err != nil {
		return "", 0, time.Time{}, false
	}
	start, err = time.Parse(nameTime, m[5])
	return m[1], rank, start, err == nil
}

// RunInName returns a run id as the names of files have it.
func RunInName(id string) string { return fileSafe(id, "run") }

// fileSafe makes a text part of a file's name; the file itself has the whole. A text
// that changes on the way gets a checksum, so that two do not become one.
func fileSafe(s, otherwise string) string {
	safe := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, s)
	safe = strings.TrimLeft(safe, ".-")
	safe = strings.ReplaceAll(safe, "-rank", "_rank") // that is where the name is split
	switch {
	case s == "":
		return otherwise
	case len(safe) > 48 || safe != s:
		return fmt.Sprintf("%.48s_%08x", safe, crc32.ChecksumIEEE([]byte(s)))
	}
	return safe
}

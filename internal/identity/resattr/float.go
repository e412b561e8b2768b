package resattr

import (
	"math"
	"strconv"
	"strings"
)

// FormatFloat writes f as the reference does: the shortest decimal text that
// reads back as f, always with a fraction or an exponent ("1.0", "1e+100",
// "-0.0"), and "nan", "inf", "-inf".
func FormatFloat(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	// Plain notation covers decimal exponents -4 to 15.
	text := strconv.FormatFloat(f, 'e', -1, 64)
	exp, err := strconv.Atoi(text[strings.IndexByte(text, 'e')+1:])
	if err == nil && (exp < -4 || exp >= 16) {
		return text
	}
	text = strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

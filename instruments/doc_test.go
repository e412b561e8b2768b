package instruments_test

import (
	"bufio"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nemo-lens/lens/instruments"
)

// The table in the package documentation is what the recorders really do.
func TestDocumentedInstruments(t *testing.T) {
	t.Parallel()
	s := newSDK(t)
	recordAll(s.meter)
	got := s.collect()
	fields := make(map[string]bool) // of the structs, minus those that are attributes
	for _, v := range []any{instruments.TrainingValues{}, instruments.InferenceValues{}, instruments.RLValues{}, instruments.GymValues{}} {
		typ := reflect.TypeOf(v)
		for f := range typ.Fields() {
			if f.Type.Kind() != reflect.String {
				fields[typ.Name()+"."+f.Name] = true
			}
		}
	}
	file, err := os.Open("doc.go")
	require.NoError(t, err)
	defer file.Close()
	documented := make(map[string]bool)
	for lines := bufio.NewScanner(file); lines.Scan(); {
		cells := strings.Fields(strings.TrimPrefix(lines.Text(), "//"))
		if len(cells) < 3 || !strings.Contains(cells[0], ".") || !strings.Contains(cells[len(cells)-1], "Values.") {
			continue
		}
		name, kind, field := cells[0], cells[1], cells[len(cells)-1]
		m, ok := got[name]
		if !assert.True(t, ok, "%s is documented and never recorded", name) {
			continue
		}
		documented[name] = true
		assert.Equal(t, kindOf(m), kind, name)
		assert.Equal(t, m.Unit, strings.Join(cells[2:len(cells)-1], " "), name)
		assert.True(t, fields[field], "%s: no field %s, or it is documented twice", name, field)
		delete(fields, field)
	}
	assert.Empty(t, fields, "fields that are not documented")
	assert.Len(t, documented, len(got), "instruments that are not documented")
}

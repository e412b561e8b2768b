package iris

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const header = "sepal_length,sepal_width,petal_length,petal_width,species\n"

// Published summary statistics of the data set: overall, and the class means of
// Fisher's paper.
func TestShippedDataMatchesPublishedStatistics(t *testing.T) {
	t.Parallel()
	d, err := Load()
	require.NoError(t, err)
	require.Equal(t, 150, d.Len())
	require.Len(t, d.X, 150)

	s, err := FitScaler(d)
	require.NoError(t, err)
	for j, want := range []struct{ mean, std float64 }{{5.843, 0.828}, {3.057, 0.436}, {3.758, 1.765}, {1.199, 0.762}} {
		assert.InDelta(t, want.mean, s.Mean[j], 0.0005, "mean of %s", columns[j])
		assert.InDelta(t, want.std, s.Std[j], 0.0005, "standard deviation of %s", columns[j])
	}

	wantMeans := [][]float64{{5.006, 3.428, 1.462, 0.246}, {5.936, 2.770, 4.260, 1.326}, {6.588, 2.974, 5.552, 2.026}}
	for label, want := range wantMeans {
		var class Dataset
		for i, y := range d.Y {
			if y == label {
				class.X, class.Y = append(class.X, d.X[i]), append(class.Y, y)
			}
		}
		require.Equal(t, 50, class.Len(), Species()[label])
		s, err := FitScaler(class)
		require.NoError(t, err)
		assert.InDeltaSlice(t, want, s.Mean[:], 1e-9, Species()[label])
	}
}

// The two rows in which a widely copied file differs from Fisher's paper.
func TestShippedDataFollowsFisher(t *testing.T) {
	t.Parallel()
	d, err := Load()
	require.NoError(t, err)
	assert.Equal(t, []float64{4.9, 3.1, 1.5, 0.2}, d.X[34])
	assert.Equal(t, []float64{4.9, 3.6, 1.4, 0.1}, d.X[37])
}

func TestLoadReturnsAFreshCopy(t *testing.T) {
	t.Parallel()
	a, err := Load()
	require.NoError(t, err)
	a.X[0][0], a.Y[0] = -1, 2
	b, err := Load()
	require.NoError(t, err)
	assert.Equal(t, 5.1, b.X[0][0])
	assert.Equal(t, 0, b.Y[0])
}

func TestParseErrorsNameTheText(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, in string
		want     []string
	}{
		{"empty", "", []string{"empty", "header"}},
		{"other header", "a,b,c,d,e\n", []string{`"a"`, `"sepal_length"`}},
		{"not a number", header + "5.1,3.5,1.4,0.2,setosa\n5.1,x,1.4,0.2,setosa\n", []string{"line 3", `sepal_width="x"`, "above 0"}},
		{"zero", header + "0,3.5,1.4,0.2,setosa\n", []string{"line 2", `sepal_length="0"`}},
		{"NaN", header + "5.1,3.5,NaN,0.2,setosa\n", []string{`petal_length="NaN"`}},
		{"infinite", header + "5.1,3.5,1.4,1e999,setosa\n", []string{`petal_width="1e999"`}},
		{"species", header + "5.1,3.5,1.4,0.2,rose\n", []string{"line 2", `species="rose"`, `"virginica"`}},
		{"short line", header + "5.1,3.5\n", []string{"line 2", "wrong number of fields"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d, err := Parse(strings.NewReader(test.in))
			require.Error(t, err)
			assert.Zero(t, d.Len())
			for _, want := range test.want {
				assert.Contains(t, err.Error(), want)
			}
		})
	}
}

func TestSplitIsStratifiedDisjointAndRepeatable(t *testing.T) {
	t.Parallel()
	d, err := Load()
	require.NoError(t, err)
	train, test, err := d.Split(7, 0.3)
	require.NoError(t, err)
	require.Equal(t, 105, train.Len())
	require.Equal(t, 45, test.Len())
	for label := range species {
		inTest := 0
		for _, y := range test.Y {
			if y == label {
				inTest++
			}
		}
		assert.Equal(t, 15, inTest, species[label])
	}

	// Two flowers may measure the same, so rows are told apart by address.
	seen := map[*float64]int{}
	for _, x := range slices.Concat(train.X, test.X) {
		seen[&x[0]]++
	}
	assert.Len(t, seen, 150, "every flower in exactly one part")

	again, _, err := d.Split(7, 0.3)
	require.NoError(t, err)
	assert.Equal(t, train, again)
	other, _, err := d.Split(8, 0.3)
	require.NoError(t, err)
	assert.NotEqual(t, train, other)

	for _, share := range []float64{0, 1, -0.1, 1.5} {
		_, _, err := d.Split(7, share)
		assert.ErrorContains(t, err, fmt.Sprint(share))
	}
}

func TestScalerGivesMeanZeroAndDeviationOne(t *testing.T) {
	t.Parallel()
	d, err := Load()
	require.NoError(t, err)
	s, err := FitScaler(d)
	require.NoError(t, err)
	scaled := s.Apply(d)
	check, err := FitScaler(scaled)
	require.NoError(t, err)
	assert.InDeltaSlice(t, []float64{0, 0, 0, 0}, check.Mean[:], 1e-12)
	assert.InDeltaSlice(t, []float64{1, 1, 1, 1}, check.Std[:], 1e-12)
	assert.Equal(t, 5.1, d.X[0][0], "the input is left alone")

	_, err = FitScaler(Dataset{})
	assert.ErrorContains(t, err, "0 flowers")
	_, err = FitScaler(Dataset{X: [][]float64{{1, 1, 1, 1}, {1, 1, 1, 1}}, Y: []int{0, 0}})
	assert.ErrorContains(t, err, "sepal_length")
}

func FuzzParse(f *testing.F) {
	f.Add(file)
	f.Add([]byte(header))
	f.Add([]byte(header + "5.1,3.5,1.4,0.2,setosa\n"))
	f.Add([]byte(header + "\"5.1\n\",3.5,1.4,0.2,setosa\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		d, err := Parse(bytes.NewReader(in))
		if err != nil {
			if d.Len() != 0 {
				t.Fatalf("an error and %d flowers", d.Len())
			}
			return
		}
		if len(d.X) != len(d.Y) {
			t.Fatalf("%d rows, %d labels", len(d.X), len(d.Y))
		}
		for i, x := range d.X {
			if len(x) != Features || d.Y[i] < 0 || d.Y[i] >= len(species) {
				t.Fatalf("row %d: %v, label %d", i, x, d.Y[i])
			}
		}
	})
}

// Package iris holds the Iris data set: 150 flowers of three species, four
// measurements each, in centimetres.
//
// Source: R. A. Fisher, "The use of multiple measurements in taxonomic
// problems", Annals of Eugenics 7 (1936), distributed by the UCI Machine
// Learning Repository (https://doi.org/10.24432/C56C76) under CC BY 4.0. Rows
// 35 and 38 follow Fisher's paper; the repository's file is known to differ
// from it there.
package iris

import (
	"bytes"
	_ "embed"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
)

//go:embed iris.csv
var file []byte

// Features is the number of measurements of one flower.
const Features = 4

// columns is the header that a file must have.
var columns = []string{"sepal_length", "sepal_width", "petal_length", "petal_width", "species"}

// species are the class names; a label is an index into them.
var species = []string{"setosa", "versicolor", "virginica"}

// Species returns the class names in label order.
func Species() []string { return slices.Clone(species) }

// Dataset is a list of flowers: the measurements of flower i are X[i], its
// species is Species()[Y[i]].
type Dataset struct {
	X [][]float64
	Y []int
}

// Len returns the number of flowers.
func (d Dataset) Len() int { return len(d.Y) }

// Load returns the data set shipped in this package, in the file's order. Every
// call returns a fresh copy.
func Load() (Dataset, error) { return Parse(bytes.NewReader(file)) }

// Parse reads a data set from comma separated text with the header
// "sepal_length,sepal_width,petal_length,petal_width,species". Measurements are
// finite numbers above zero. An error names the line, the column and the text.
func Parse(r io.Reader) (Dataset, error) {
	lines := csv.NewReader(r)
	lines.FieldsPerRecord = len(columns)
	lines.ReuseRecord = true

	header, err := lines.Read()
	if errors.Is(err, io.EOF) {
		return Dataset{}, errors.New("iris: the file is empty, want a header line")
	}
	if err != nil {
		return Dataset{}, fmt.Errorf("iris: %w", err)
	}
	if !slices.Equal(header, columns) {
		return Dataset{}, fmt.Errorf("iris: header %q, want %q", header, columns)
	}

	var d Dataset
	for {
		record, err := lines.Read()
		if errors.Is(err, io.EOF) {
			return d, nil
		}
		if err != nil {
			return Dataset{}, fmt.Errorf("iris: %w", err)
		}
		line, _ := lines.FieldPos(0)
		x := make([]float64, Features)
		for i := range x {
			v, err := strconv.ParseFloat(record[i], 64)
			if err != nil || math.IsInf(v, 0) || !(v > 0) {
				return Dataset{}, fmt.Errorf("iris: line %d: %s=%q: want a number above 0", line, columns[i], record[i])
			}
			x[i] = v
		}
		label := slices.Index(species, record[Features])
		if label < 0 {
			return Dataset{}, fmt.Errorf("iris: line %d: species=%q: want one of %q", line, record[Features], species)
		}
		d.X = append(d.X, x)
		d.Y = append(d.Y, label)
	}
}

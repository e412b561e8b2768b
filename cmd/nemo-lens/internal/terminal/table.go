package terminal

import (
	"io"
	"strings"
)

// Column is one of a table. The first column is to the left and gives way when
// the table is too wide; columns with the highest Drop are then left out.
type Column struct {
	Title string
	Drop  int
}

// Table writes rows below titles. Each row has as many cells as there are
// columns; paint, when not nil, gives the colour of a row.
func (s Style) Table(w io.Writer, columns []Column, rows [][]string, paint func(row int) string) error {
	const gap, least = 2, 12
	widths := make([]int, len(columns))
	for c := range columns {
		widths[c] = Columns(columns[c].Title)
		for _, row := range rows {
			widths[c] = max(widths[c], Columns(row[c]))
		}
	}
	shown := make([]bool, len(columns))
	for c := range shown {
		shown[c] = true
	}
	for {
		total, worst := 0, 0
		for c := range columns {
			if !shown[c] {
				continue
			}
			if c > 0 {
				total += widths[c] + gap
			}
			if columns[c].Drop > columns[worst].Drop || !shown[worst] {
				worst = c
			}
		}
		room := s.Width - total
		if room >= min(widths[0], least) || columns[worst].Drop == 0 {
			widths[0] = max(1, min(widths[0], room))
			break
		}
		shown[worst] = false
		columns[worst].Drop = 0
	}
	line := func(cells []string, color string) error {
		var out strings.Builder
		for c, cell := range cells {
			switch {
			case !shown[c]:
			case c == 0:
				out.WriteString(s.Fit(cell, widths[0]))
			default:
				out.WriteString(strings.Repeat(" ", gap+widths[c]-Columns(cell)))
				out.WriteString(cell)
			}
		}
		_, err := io.WriteString(w, s.Paint(color, strings.TrimRight(out.String(), " "))+"\n")
		return err
	}
	titles := make([]string, len(columns))
	for c := range columns {
		titles[c] = columns[c].Title
	}
	if err := line(titles, Bold); err != nil {
		return err
	}
	for i, row := range rows {
		color := ""
		if paint != nil {
			color = paint(i)
		}
		if err := line(row, color); err != nil {
			return err
		}
	}
	return nil
}

package main

import (
	"fmt"
	"os"
	"strings"
)

var colours = []string{"#999999", "#0b6e4f", "#c1121f"}

// plot writes the curves to file as an SVG image, and the numbers beside it as CSV.
func plot(file string, names []string, curves [][]sample) error {
	var csv strings.Builder
	csv.WriteString("tracer,seconds,spans,resident_mb\n")
	var seconds, mb float64
	for i, curve := range curves {
		for _, s := range curve {
			fmt.Fprintf(&csv, "%s,%.3f,%d,%.2f\n", names[i], s.seconds, s.spans, s.mb)
			seconds, mb = max(seconds, s.seconds), max(mb, s.mb)
		}
	}
	if err := os.WriteFile(strings.TrimSuffix(file, ".svg")+".csv", []byte(csv.String()), 0o600); err != nil {
		return err
	}
	const left, top, width, height = 50, 30, 600, 240
	mb *= 1.15
	at := func(s sample) string {
		return fmt.Sprintf("%.1f,%.1f", left+width*s.seconds/seconds, top+height*(1-s.mb/mb))
	}
	var svg strings.Builder
	fmt.Fprintf(&svg, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", left+width+20, top+height+50)
	fmt.Fprintf(&svg, `<rect width="100%%" height="100%%" fill="#ffffff"/>`+"\n")
	for i := range 5 {
		y := top + height*float64(4-i)/4
		fmt.Fprintf(&svg, `<path d="M%d %.1fh%d" stroke="#dddddd"/><text x="%d" y="%.1f" text-anchor="end">%.0f</text>`+"\n", left, y, width, left-6, y+4, mb*float64(i)/4)
		x := left + width*float64(i)/4
		fmt.Fprintf(&svg, `<text x="%.1f" y="%d" text-anchor="middle">%.1f</text>`+"\n", x, top+height+18, seconds*float64(i)/4)
	}
	fmt.Fprintf(&svg, `<text x="%d" y="%d">resident memory (MB)</text><text x="%d" y="%d" text-anchor="end">time (s)</text>`+"\n", 6, 18, left+width, top+height+40)
	for i, curve := range curves {
		points := make([]string, len(curve))
		for j, s := range curve {
			points[j] = at(s)
		}
		colour := colours[i%len(colours)]
		fmt.Fprintf(&svg, `<polyline fill="none" stroke="%s" stroke-width="2" points="%s"/>`+"\n", colour, strings.Join(points, " "))
		fmt.Fprintf(&svg, `<text x="%d" y="18" fill="%s">%s</text>`+"\n", left+200+120*i, colour, names[i])
	}
	svg.WriteString("</svg>\n")
	return os.WriteFile(file, []byte(svg.String()), 0o600)
}

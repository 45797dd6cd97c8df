package main

import (
	"fmt"
	"strconv"
	"strings"
)

// recorded is what a file of bench/results says.
type recorded struct {
	day, machine string
	rows         []recordedRow
}

// recordedRow is a row of the table: the cells of this package and of the peers, by title.
type recordedRow struct {
	title string
	cells map[string]recordedTime
}

// recordedTime is the time of a cell.
type recordedTime struct {
	text string // with the unit
	ns   float64
}

// units are the units in the table, in nanoseconds.
var units = map[string]float64{"us": 1e3, "ms": 1e6}

// record parses the text of a file of bench/results, which full writes.
func record(report string) (recorded, error) {
	var r recorded
	_, heading, _ := strings.Cut(report, "# Benchmark of ")
	r.day, heading, _ = strings.Cut(heading, "\n\n")
	r.machine, _, _ = strings.Cut(heading, ";")
	_, table, ok := strings.Cut(report, "\n| |")
	if r.day == "" || r.machine == "" || !ok {
		return r, fmt.Errorf("these results have no day, machine or table: run bench/run")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	head, table, _ := strings.Cut(table, "\n")
	titles := strings.Split(head, "|")
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(line, "|\n"), "|")
		if strings.HasPrefix(line, "|---") || len(cells) > len(titles) {
			continue
		}
		row := recordedRow{title: strings.TrimSpace(cells[0]), cells: map[string]recordedTime{}}
		for i, cell := range cells[1:] {
			if t, ok := parseTime(cell); ok {
				row.cells[strings.Trim(titles[i], " *")] = t
			}
		}
		r.rows = append(r.rows, row)
	}
	return r, nil
}

// parseTime parses a cell as measurements.cell writes it; an empty one has no time.
func parseTime(cell string) (recordedTime, bool) {
	words := append(strings.Fields(cell), "", "")
	v, err := strconv.ParseFloat(words[0], 64)
	if err != nil {
		return recordedTime{}, false
	}
	if unit := units[words[1]]; unit != 0 {
		return recordedTime{words[0] + " " + words[1], v * unit}, true
	}
	return recordedTime{words[0] + " ns", v}, true
}

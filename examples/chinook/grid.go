// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// grid is an answer: named columns and rows of cells. The name of a column of
// figures, which is set flush right, begins with ">".
type grid struct {
	columns []string
	rows    [][]string
}

// maxCell is the number of characters of a cell that are shown.
const maxCell = 48

// print writes the grid with aligned columns.
func (g grid) print(out io.Writer) error {
	names := make([]string, len(g.columns))
	rules := make([]string, len(g.columns))
	widths := g.widths()
	for i, column := range g.columns {
		names[i] = strings.TrimPrefix(column, ">")
		rules[i] = strings.Repeat("-", widths[i])
	}
	for _, row := range append([][]string{names, rules}, g.rows...) {
		if err := g.printRow(out, row, widths); err != nil {
			return err
		}
	}
	return nil
}

func (g grid) widths() []int {
	widths := make([]int, len(g.columns))
	for i, column := range g.columns {
		widths[i] = len(strings.TrimPrefix(column, ">"))
		for _, row := range g.rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(shorten(row[i])))
		}
	}
	return widths
}

func (g grid) printRow(out io.Writer, row []string, widths []int) error {
	cells := make([]string, len(row))
	for i, cell := range row {
		cell = shorten(cell)
		space := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
		if strings.HasPrefix(g.columns[i], ">") {
			cells[i] = space + cell
		} else {
			cells[i] = cell + space
		}
	}
	_, err := fmt.Fprintln(out, "  "+strings.TrimRight(strings.Join(cells, "  "), " "))
	return err
}

func shorten(cell string) string {
	runes := []rune(cell)
	if len(runes) <= maxCell {
		return cell
	}
	return string(runes[:maxCell-1]) + "…"
}

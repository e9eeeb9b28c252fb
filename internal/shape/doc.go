// SPDX-License-Identifier: Apache-2.0

// Package shape counts what makes Go code hard to enter: methods far from their
// type, types that are named by a participle, sentences about nobody, long files
// and functions, and circles of files that need each other.
//
// It reads the syntax of the files only, so it needs no build:
//
//	files, err := shape.Load(".")
//	if err != nil {
//		return err
//	}
//	for _, m := range shape.Methods(files) {
//		if m.Away {
//			fmt.Println(m.Position, m.Name)
//		}
//	}
package shape

// SPDX-License-Identifier: Apache-2.0

// Package shape counts what makes Go code hard to read: methods away from their
// type, types that are named by a participle, sentences that name no actor, long
// files and functions. [Bounds] counts what makes a module hard to keep: packages, exported types, files,
// lines of code, words that are rare in plain English.
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

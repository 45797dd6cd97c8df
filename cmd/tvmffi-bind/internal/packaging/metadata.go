package packaging

import (
	"bytes"
	"fmt"
	"strings"
)

// Metadata is what a wheel says about itself.
type Metadata struct {
	// Name and Version name the distribution. Version is in normal form.
	Name, Version string
	// Summary is one line.
	Summary string
	// License is an SPDX expression, or empty if it is not known.
	License  string
	Licenses []License
	// Description is the text of the README; Type is its media type.
	Description []byte
	Type        string
	// Source is the address of the source code, or empty.
	Source string
	// Requires is the requirement, such as apache-tvm-ffi>=0.1.12,<0.2.
	Requires string
}

// License is the text of a licence or a notice.
type License struct {
	// Path is relative to the folder of the licences.
	Path    string
	Content []byte
}

// oldestPython is the oldest Python with a release of apache-tvm-ffi.
const oldestPython = ">=3.9"

// bytes is the file METADATA.
func (m *Metadata) bytes() []byte {
	var b bytes.Buffer
	field := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%s: %s\n", name, value)
		}
	}
	field("Metadata-Version", "2.4")
	field("Name", m.Name)
	field("Version", m.Version)
	field("Summary", strings.Join(strings.Fields(m.Summary), " "))
	field("License-Expression", m.License)
	for _, l := range m.Licenses {
		field("License-File", l.Path)
	}
	field("Classifier", "Programming Language :: Python :: 3")
	field("Classifier", "Typing :: Typed")
	if m.Source != "" {
		field("Project-URL", "Source, "+m.Source)
	}
	field("Requires-Python", oldestPython)
	field("Requires-Dist", m.Requires)
	if len(m.Description) > 0 {
		field("Description-Content-Type", m.Type)
		b.WriteByte('\n')
		b.Write(bytes.ReplaceAll(m.Description, []byte("\r\n"), []byte("\n")))
	}
	return b.Bytes()
}

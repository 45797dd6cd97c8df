package machine

import (
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Private hides the user of this machine in a text: home folders become ~, and a folder with the user's name USER.
type Private struct {
	homes []string
	names []string
}

// NewPrivate finds out who the user is.
func NewPrivate() *Private {
	p := &Private{}
	addHome := func(dir string) {
		if filepath.IsAbs(dir) && dir != filepath.Dir(dir) {
			p.homes = append(p.homes, filepath.Clean(dir))
			if real, err := filepath.EvalSymlinks(dir); err == nil {
				p.homes = append(p.homes, real)
			}
		}
	}
	if dir, err := os.UserHomeDir(); err == nil {
		addHome(dir)
	}
	if u, err := user.Current(); err == nil {
		addHome(u.HomeDir)
		p.addName(u.Username)
	}
	p.addName(os.Getenv("USER"))
	p.addName(os.Getenv("LOGNAME"))
	slices.SortFunc(p.homes, func(a, b string) int { return len(b) - len(a) }) // a home inside another one first
	return p
}

// addName adds a name that says who the user is. On Windows it follows the name of the domain.
func (p *Private) addName(name string) {
	name = name[strings.LastIndexByte(name, '\\')+1:]
	if name != "" && name != "root" {
		p.names = append(p.names, name)
	}
}

// folders matches the folders of all users.
var folders = regexp.MustCompile(`([/\\](?:home|Users)[/\\])[^/\\\s:;,"']+`)

// Hide returns text without the user.
func (p *Private) Hide(text string) string {
	for _, home := range p.homes {
		text = replaced(text, home, "~")
	}
	text = folders.ReplaceAllString(text, "${1}USER")
	for _, name := range p.names {
		text = replaced(text, name, "USER")
	}
	return text
}

// replaced replaces old where no letter, digit or the like stands before or after it.
func replaced(text, old, by string) string {
	var b strings.Builder
	for {
		i := strings.Index(text, old)
		if i < 0 {
			b.WriteString(text)
			return b.String()
		}
		end := i + len(old)
		whole := (i == 0 || !inName(text[i-1])) && (end == len(text) || !inName(text[end]))
		b.WriteString(text[:i])
		if whole {
			b.WriteString(by)
		} else {
			b.WriteString(old)
		}
		text = text[end:]
	}
}

func inName(c byte) bool {
	return c == '_' || c == '-' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= 0x80
}

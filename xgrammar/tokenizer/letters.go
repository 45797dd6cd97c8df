package tokenizer

// letters has the letter that stands for each byte in a byte-level tokenizer, and bytesOf the byte of each.
var (
	letters [256]string
	bytesOf = map[rune]byte{}
)

func init() {
	other := rune(256)
	for i := range 256 {
		r := rune(i)
		if !(r >= '!' && r <= '~' || r >= '¡' && r <= '¬' || r >= '®') {
			r, other = other, other+1
		}
		letters[i], bytesOf[r] = string(r), byte(i)
	}
}

// appendBytes appends the bytes for which the letters of a token stand, and reports whether all of them stand for one.
func appendBytes(to []byte, token string) ([]byte, bool) {
	start := len(to)
	for _, r := range token {
		b, ok := bytesOf[r]
		if !ok {
			return to[:start], false
		}
		to = append(to, b)
	}
	return to, true
}

func appendLetters(to, text []byte) []byte {
	for _, b := range text {
		to = append(to, letters[b]...)
	}
	return to
}

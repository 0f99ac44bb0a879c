# Chooses faults, and plants them into a copy of the sources; sourced by scripts whose working folder is the repository's.

# plant TREE PATCH…: puts the sources with these patches into the folder TREE, absolute and below a folder that git ignores. A file that
# is there already and has not changed stays as it is, so that a second run compiles little.
plant() {
    local tree=$1 stage=$1.stage
    shift
    rm -rf "$stage" && mkdir -p "$stage" "$tree" || return
    git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do
        [ -e "$file" ] && printf '%s\0' "$file"
    done | xargs -0 cp -p --parents -t "$stage" || return
    (export GIT_CEILING_DIRECTORIES=${stage%/*} && cd "$stage" && git apply "$@") || return
    (cd "$tree" && find . -type f -print0) | while IFS= read -r -d '' file; do
        [ -e "$stage/$file" ] || rm "$tree/$file"
    done
    (cd "$stage" && find . -type f -print0) | while IFS= read -r -d '' file; do
        cmp -s "$stage/$file" "$tree/$file" && continue
        mkdir -p "$tree/${file%/*}" && cp "$stage/$file" "$tree/$file"
    done
    rm -rf "$stage"
}

# choose ROWS FAULT…: keeps the rows of these faults in the file ROWS, or all without a name. A row begins with the name of its fault.
choose() {
    local rows=$1 name
    shift
    [ $# -gt 0 ] || return 0
    for name; do
        grep -q "^$name " "$rows" || { echo "no fault is named $name" >&2; return 2; }
    done
    printf '%s\n' "$@" | awk 'NR == FNR { names[$1]; next } $1 in names' - "$rows" >"$rows.chosen"
    mv "$rows.chosen" "$rows"
}

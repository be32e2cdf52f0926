package childlog

const noFollow = 0
